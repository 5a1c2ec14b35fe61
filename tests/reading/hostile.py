"""Addresses that must never be reached, in many spellings."""

from __future__ import annotations


def listed(text: str) -> list[str]:
    return text.split()


# Addresses in their usual spelling that are nobody's public page.
NOT_PUBLIC = listed(
    """0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.254 127.0.0.1 127.0.1.1
127.255.255.254 168.63.129.16 169.254.0.1 169.254.169.253 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1
192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
239.255.255.250 240.0.0.1 255.255.255.255 :: ::1 ::2 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254
::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b::10.0.0.1 64:ff9b:1::1 100::1 100:0:0:1::1 2001::1
2001:0:7f00:1::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:7f00:1::1 2002:a00:1::1 2002:808:808::1 3fff::1
3fff:fff::1 5f00::1 fc00::1 fd00::1 fd00:ec2::254 fd12:3456::1 fe80::1 fec0::1 ff02::1 ff0e::1 fe80::1%1 2606:4700::1111%1"""
)

PUBLIC = listed(
    "1.1.1.1 8.8.8.8 93.184.216.34 100.128.0.1 172.32.0.1 192.169.0.1 2606:4700::1111 2a00:1450:4001::1 64:ff9b::808:808"
)

# Spellings that one parser or another takes for loopback; {p} is the trap's port.
SPELLINGS = listed(
    """http://127.0.0.1:{p}/ http://127.0.0.1:{p} HTTP://127.0.0.1:{p}/ http://127.0.0.1.:{p}/ http://127.1:{p}/
http://127.0.1:{p}/ http://2130706433:{p}/ http://017700000001:{p}/ http://0x7f000001:{p}/ http://0x7f.0.0.1:{p}/
http://0x7f.1:{p}/ http://0177.0.0.1:{p}/ http://0177.0.0.01:{p}/ http://00000177.1:{p}/ http://127.0.0.01:{p}/
http://127.000.000.001:{p}/ http://127.0.0.0x1:{p}/ http://0X7F.0.0.1:{p}/ http://4294967297:{p}/ http://127.0.0.257:{p}/
http://0:{p}/ http://0.0.0.0:{p}/ http://0x0:{p}/ http://00:{p}/ http://localhost:{p}/ http://LOCALHOST:{p}/
http://LocalHost.:{p}/ http://localhost.localdomain:{p}/ http://foo.localhost:{p}/ http://a.b.localhost.:{p}/
http://ip6-localhost:{p}/ http://[::1]:{p}/ http://[::]:{p}/ http://[0:0:0:0:0:0:0:1]:{p}/ http://[::0001]:{p}/
http://[::ffff:127.0.0.1]:{p}/ http://[::ffff:7f00:1]:{p}/ http://[::127.0.0.1]:{p}/ http://[0:0:0:0:0:ffff:127.0.0.1]:{p}/
http://[::ffff:0x7f.1]:{p}/ http://[::1%lo]:{p}/ http://[::1%25lo]:{p}/ http://[fe80::1%25eth0]:{p}/ http://[::1]%25lo:{p}/
http://[64:ff9b::127.0.0.1]:{p}/ http://[2002:7f00:1::]:{p}/ http://[::1].example.com:{p}/ http://[127.0.0.1]:{p}/
http://[localhost]:{p}/ http://①②⑦.⓪.⓪.①:{p}/ http://１２７.０.０.１:{p}/ http://127。0。0。1:{p}/ http://127．0．0．1:{p}/
http://ⓛocalhost:{p}/ http://ｌｏｃａｌｈｏｓｔ:{p}/ http://loc­alhost:{p}/ http://local​host:{p}/ http://%31%32%37.0.0.1:{p}/
http://127%2e0%2e0%2e1:{p}/ http://%6c%6f%63alhost:{p}/ http://127.0.0.1%00.example.com:{p}/ http://127.0.0.1%20:{p}/
http://user@127.0.0.1:{p}/ http://user:pw@127.0.0.1:{p}/ http://example.com@127.0.0.1:{p}/ http://example.com:80@127.0.0.1:{p}/
http://127.0.0.1:{p}@example.com/ http://example.com%40127.0.0.1:{p}/ http://a@b@127.0.0.1:{p}/ http://@127.0.0.1:{p}/
http://:@127.0.0.1:{p}/ http://example.com\\@127.0.0.1:{p}/ http://127.0.0.1:{p}\\@example.com/ http://127.0.0.1:{p}\\.example.com/
http:\\\\127.0.0.1:{p}\\ http:/127.0.0.1:{p}/ http:127.0.0.1:{p}/ http:///127.0.0.1:{p}/ http:////127.0.0.1:{p}/ //127.0.0.1:{p}/
127.0.0.1:{p} /127.0.0.1 http:// http://? http://# http://: http://:{p}/ http://. http://.. http://a..b.com/ http://-.com/
http://127.0.0.1#@example.com:{p}/ http://127.0.0.1?@example.com:{p}/
http://127.0.0.1;example.com:{p}/ http://127.0.0.1,example.com:{p}/ http://127.0.0.1&example.com:{p}/ http://*:{p}/
http://metadata:80/ http://metadata.google.internal/computeMetadata/v1/ http://instance-data/latest/ http://intranet/
http://router.lan/ http://printer.local/ http://nas.home/ http://x.home.arpa/ http://kubernetes.default.svc.cluster.local/
http://1.0.0.127.in-addr.arpa/ http://host.docker.internal:{p}/ http://abcdefghijklmnop.onion/ http://wpad/ http://wpad.corp/
file:///etc/passwd file://localhost/etc/passwd ftp://127.0.0.1:{p}/ gopher://127.0.0.1:{p}/_x dict://127.0.0.1:{p}/d
ldap://127.0.0.1:{p}/ tftp://127.0.0.1:{p}/ ws://127.0.0.1:{p}/ wss://127.0.0.1:{p}/ jar:http://127.0.0.1:{p}/!/ data:text/html,x
javascript:alert(1) about:blank view-source:http://127.0.0.1:{p}/ unix:///var/run/docker.sock http+unix://%2Fvar%2Frun/x
netdoc:///etc/passwd httpx://127.0.0.1:{p}/ h%74tp://127.0.0.1:{p}/ http://127.0.0.1:99999/ http://127.0.0.1:-1/ http://127.0.0.1:0/
http://8.8.8.8:22/ http://8.8.8.8:25/ http://example.com:6379/ http://example.com:11211/ https://example.com:3306/
http://example.com:0/ http://example.com:65536/ http://example.com:80:80/ http://example.com:8o/ http://[/ http://]/
http://[::1/ http://::1]:{p}/ http://::1:{p}/"""
)
WITH_WHITE = [
    "http://127.0.0.1 :{p}/", " http://127.0.0.1\t:{p}/", "http://127.0.0.1\r\nHost: x/", "http://127.0.0.1\0.example.com/",
    "ht\ntp://127.0.0.1:{p}/", "http://exam ple.com/", "http://example.com/\r\nX: y", "", "\0", "http://" + "a" * 5000 + ".com/",
    "http://" + "a" * 64 + ".com/", "http://" + "a." * 130 + "com/",
]  # fmt: skip
HOSTILE = SPELLINGS + WITH_WHITE
