# SPDX-License-Identifier: Apache-2.0
"""Send heads that proxies and servers read in two ways; print a line "STATUS... NAME" for each.

heads.py URL KEY

Behind each head is a second request, which a server that takes another end of the body than a proxy
would answer as the proxy's next client's.
"""
import re
import socket
import sys
import urllib.parse

url, key = sys.argv[1:]
place = urllib.parse.urlparse(url)
chunked, second = "0\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
heads = [
    ("one length", "Content-Length: 5", "hello"),
    ("one coding", "Transfer-Encoding: Chunked", "5;a=b\r\nhello\r\n" + chunked),
    ("two lengths", "Content-Length: 5\r\nContent-Length: 0", "hello"),
    ("equal lengths", "Content-Length: 5\r\ncontent-length: 5", "hello"),
    ("length and coding", "Content-Length: 5\r\nTransfer-Encoding: chunked", chunked),
    ("two codings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip", chunked),
    ("another coding", "Transfer-Encoding: xchunked", chunked),
    ("list of codings", "Transfer-Encoding: gzip, chunked", chunked),
    ("space in the name", "Transfer-Encoding : chunked", chunked),
    ("two hosts", "Host: y\r\nContent-Length: 5", "hello"),
]


def ask(text):
    """Returns the statuses of all answers."""
    with socket.create_connection((place.hostname, place.port), timeout=20) as connection:
        connection.sendall(text.encode())
        answers = b""
        while chunk := connection.recv(65536):
            answers += chunk
    return re.findall(r"HTTP/1\.1 (\d+) ", answers.decode())


for name, head, body in heads:
    last = second.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
    print(*ask("POST /api/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n\r\n%s"
               % (key, head, body + last)), name)
for path in "/healthz", "/health%7a", "/healthz%00", "/%00", "/healthz%2500":
    print(*ask("GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n"
               % (path, key)), path)
