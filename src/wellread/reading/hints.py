"""Class names and ids as hints: what the names that authors give to parts of a page say about these parts.

Names are split into words ("relatedArticles-box" → related, articles, box) and compared whole, so that
"download" is not an "ad". Nothing here knows a site: these are the words of the trade.
"""

from __future__ import annotations

import re
from functools import lru_cache


def words(text: str) -> frozenset[str]:
    """A set written as prose."""
    return frozenset(text.split())


COMMENTS = words("comment comments commentlist commenting commentcontainer disqus respond")

# Never the main text, unless nearly the whole page is inside.
STRONG = COMMENTS | words(
    """sidebar footer nav navbar navigation menu breadcrumb breadcrumbs related recirc recirculation recommended
    recommendation recommendations taboola outbrain newsletter newsletters share sharing sharebar social cookie
    cookies consent gdpr modal popup popover advert advertisement advertising advertorial adsense sponsored
    sponsor sponsors pagination pager masthead trending mostread signup login teaser teasers promo promos
    promotion carousel toolbar navbox catlinks relatedposts relatedlinks relatedarticles relatedcontent sharedaddy
    affiliate disclosure nextstory"""
)

# Around or inside the main text, rarely part of it.
USUAL = words(
    """ad ads adslot shares socials byline bylines caption captions credit credits tag tags taxonomy meta popular
    overlay subscribe subscription paywall print noprint sronly timestamp dateline datetime pubdate author
    authors authorbox bio copyright disclaimer syndication license readmore seealso follow rating ratings gallery
    slideshow tooltip dropdown toc skip banner infobox rail upnext interstitial donate donation"""
)

# Classes (whole, not split) that take inline text from the reader's eye.
HIDDEN_CLASSES = words(
    "hidden sronly sr-only offscreen screen-reader-text visually-hidden visuallyhidden mw-editsection noprint headerlink"
)

_MAIN = re.compile(
    r"(?:article|entry|post|story|body|main|content|page)[-_]*(?:body|content|text|copy)|articlebody", re.IGNORECASE
)
_WRITES_MANUALS = re.compile(
    r"""docbook|docutils|sphinx|asciidoc|doxygen|makeinfo|texi|javadoc|publican|groff|man2html|mandoc|pod2|yelp|gtk-doc
    |gi-docgen|mkdocs|docusaurus|mdbook|rustdoc|pandoc|latex2html|tex4ht|hevea|pdoc|jsdoc|typedoc|rdoc|exdoc|haddock|antora
    |libreoffice|openoffice|microsoft\ word|vitepress|vuepress|gitbook|epydoc|natural\ ?docs|naturaldocs""",
    re.IGNORECASE | re.VERBOSE,
)
_REMEMBERED = 200  # characters; a page may give each of its elements a class of a hundred thousand
_SPLIT = re.compile(r"[^a-zA-Z0-9]+|(?<=[a-z])(?=[A-Z])")


def tokens(hint: str) -> frozenset[str]:
    """The words of a class or id, in lower case."""
    return _remembered(hint) if len(hint) <= _REMEMBERED else _remembered.__wrapped__(hint)


@lru_cache(maxsize=4096)
def _remembered(hint: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _SPLIT.split(hint) if word)


def writes_manuals(generator: str) -> bool:
    """Is this program, named by a page, one that makes documentation or prints documents as pages?"""
    return bool(_WRITES_MANUALS.search(generator[:200]))


def names_main_text(hint: str, names: frozenset[str]) -> bool:
    """Does its author call it the body of the article?"""
    return bool(_MAIN.search(hint)) and COMMENTS.isdisjoint(names)


# Short blocks that speak about the page instead of its subject. Only English: in other languages the
# other signs, which need no words, must do.
_POINTS_AWAY = re.compile(
    r"""read\ (?:more|also|next)|also\ read|see\ also|related(?::|\ (?:stories|articles|posts|content|news|topics|roundup))
    |you\ (?:may|might)\ also\ (?:like|be\ interested)|more\ (?:from|on|stories|great)|recommended|trending
    |most\ (?:read|popular)|tags?:|filed\ under|topics?:
    |lea\ (?:también|más|además)|lee\ también|te\ puede\ interesar|lire\ aussi|à\ lire|voir\ aussi
    |lesen\ sie\ auch|mehr\ zum\ thema
    |weitere\ (?:artikel|beiträge|themen)|auch\ interessant|weiterlesen|leggi\ anche|leia\ (?:também|mais)|veja\ também|lees\ ook
    |czytaj\ (?:też|także|więcej)|zobacz\ (?:też|także)|читайте\ также""",
    re.IGNORECASE | re.VERBOSE,
)
_OPENS_WITH = re.compile(
    r"""advertisement|sponsored|share\ (?:this|on)|subscribe\b|sign\ up\b|follow\ (?:us|me|him|her|them)\b|click\ here
    |tap\ here|(?:first\ |originally\ |last\ )?(?:published|updated|posted)(?:\ (?:on|at))?:?\s+(?!in\b|by\b).{0,12}\d
    |image\ \d+\ of\ \d+
    |photos?(?:\ by|:|\ credit)|images?(?:\ by|:|\ credit|\ source)|getty\ images|copyright\b|©
    |comments?\b.{0,5}$|leave\ a\ (?:comment|reply)|skip\ to|continue\ reading
    |load\ more|view\ (?:all|more)|loading|play\ video|watch:|listen:
    |(?:bild|foto|photo|crédit|source|fuente|quelle|fonte|źródło|fot|zdjęcie|текст|фото|источник)s?\b[^:.]{0,20}:
    |(?:anzeige|werbung|reklama|publicidad|publicité|pubblicità|advertentie|реклама)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_CONTAINS = re.compile(
    r"""all\ rights\ reserved
    |\b(?:sign\ up|subscribe)\b.*\b(?:newsletter|inbox|email|today|free)
    |(?:newsletter|inbox).*\b(?:sign\ up|subscribe)
    |follow\ (?:us|me|him|her|them|@?\w+)\ (?:on|@)
    |on\ (?:twitter|facebook|instagram)\ (?:at\ |@)
    |\((?:image|photo|picture|credit)s?:[^)]*\)\.?$""",
    re.IGNORECASE | re.VERBOSE,
)


_LONGEST = 600  # characters: the patterns take quadratic time on words that are none
_SHORT, _MIDDLING = 14, 40  # words; longer ones are sentences about something


def points_away(text: str, length: int) -> bool:
    """Announces links to other pages."""
    return length <= _SHORT and len(text) <= _LONGEST and bool(_POINTS_AWAY.match(text))


def is_about_the_page(text: str, length: int) -> bool:
    """Credits, dates and invitations."""
    if len(text) > _LONGEST:
        return False
    if length <= _SHORT and _OPENS_WITH.match(text):
        return True
    return length <= _MIDDLING and bool(_CONTAINS.search(text))
