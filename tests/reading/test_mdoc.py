"""Manuals in mdoc(7): macros stand among the arguments of others."""

from __future__ import annotations

import time

import pytest

from wellread.reading.man import read_man

PAGE = """.Dd March 5, 2024
.Dt LAMPD 8
.Os
.Sh NAME
.Nm lampd
.Nd keep a lamp burning
.Sh SYNOPSIS
.Nm
.Op Fl dq
.Op Fl -oil Ns = Ns Ar KIND
.Oo Ar host :: Oc Ns Ar port
.Ar
.Sh DESCRIPTION
.Nm
reads
.Pa /etc/lamp/ Ns Ar NAME Ns Pa .conf
.Pq see Xr lamp.conf 5 ,
unless
.Ev LAMP
is
.Dq off .
.Bl -tag -width indent
.It Fl k , Fl -kill Ns Op = Ns Ar SIGNAL
Put out a lamp that burns.
.It Fl t Xo
.Ar time |
.Cm never
.Xc
Wait so long.
.It Fl A , -ask
Ask first.
.It Fl Fl quiet
Say nothing.
.El
.Ss Calls
.Fn light "int lamp" "char *oil"
.Fo wait
.Fa "int lamp"
.Fc
.Dl lampd --kill
.Rs
.%A A. Moffat
.%T The Light
.Re
.Ex -std
"""


def test_a_page() -> None:
    page = read_man(PAGE, "file:///lampd.8")
    assert page.title == "lampd(8)"
    assert [(block.kind, block.text) for block in page.blocks] == [
        ("heading", "NAME"),
        ("paragraph", "lampd – keep a lamp burning"),
        ("heading", "SYNOPSIS"),
        ("paragraph", "lampd [-dq] [--oil=KIND] [host ::]port file …"),
        ("heading", "DESCRIPTION"),
        ("paragraph", "lampd reads /etc/lamp/NAME.conf (see lamp.conf(5)), unless LAMP is “off”."),
        ("entry", "-k, --kill[=SIGNAL]: Put out a lamp that burns."),
        ("entry", "-t time | never: Wait so long."),
        ("entry", "-A, --ask: Ask first."),
        ("entry", "--quiet: Say nothing."),
        ("heading", "Calls"),
        ("paragraph", "light(int lamp, char *oil) wait(int lamp)"),
        ("code", "lampd --kill"),
        ("paragraph", "A. Moffat, The Light,"),
        ("paragraph", "lampd exits 0 on success, and >0 if an error occurs."),
    ]


def test_what_is_quoted_is_no_macro() -> None:
    page = read_man('.Dd x\n.Sh "A Fl B"\n.Cm "Fl x" Fl y\n.Em Ns\n', "x")
    assert [block.text for block in page.blocks] == ["A Fl B", "Fl x -y"]


def test_other_manuals_keep_their_words() -> None:
    assert [block.text for block in read_man(".TH X 1\n.SH Op\n.B Fl Ar\nNs", "x").blocks] == ["Op", "Fl Ar Ns"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [".Op " * 50_000, ".Fl" + " Fl" * 100_000, ".It Xo" + " a" * 100_000, ".Oo\n" * 50_000, ".Xc\n" * 50_000]
)
def test_hostile_pages_take_no_time(line: str) -> None:
    begun = time.thread_time()
    read_man(f".Dd x\n{line}", "x")
    assert time.thread_time() - begun < 3
