#!/usr/bin/env python3
"""arm64e.py IN OUT: makes an arm64e of an arm64 Mach-O with chained fixups, which no linker here can write: its pointers in the
segments __AUTH and __AUTH_CONST get signed when it is loaded. As in files of Apple's linker, those of __AUTH_CONST are signed with
key IA and their address; those of __AUTH with a number, too, in its section __b with key IB. Its code is that of arm64, and has to
authenticate these pointers itself. Formats: mach-o/fixup-chains.h."""
import struct
import sys

POINTER64, USERLAND24 = 2, 12
CPU_SUBTYPE_ARM64E, PTRAUTH_ABI = 2, 0x80000000
LC_SEGMENT_64, LC_DYLD_CHAINED_FIXUPS = 0x19, 0x80000034

data = bytearray(open(sys.argv[1], 'rb').read())
word = lambda at: struct.unpack_from('<I', data, at)[0]
half = lambda at: struct.unpack_from('<H', data, at)[0]
quad = lambda at: struct.unpack_from('<Q', data, at)[0]
name = lambda at: bytes(data[at:at + 16]).rstrip(b'\0').decode()

segments, sections, chains = [], [], 0
at = 32
for _ in range(word(16)):
    command, size = word(at), word(at + 4)
    if command == LC_SEGMENT_64:
        segments.append((quad(at + 24), quad(at + 40), quad(at + 48)))  # vmaddr, fileoff, filesize
        for i in range(word(at + 64)):
            header = at + 72 + i * 80
            sections.append((name(header + 16), name(header), quad(header + 32), quad(header + 40)))
    elif command == LC_DYLD_CHAINED_FIXUPS:
        chains = word(at + 8)
    at += size


def signing(vaddr):
    """(key, is blended with its address, number) or None"""
    for segment, section, start, size in sections:
        if start <= vaddr < start + size:
            if segment == '__AUTH_CONST':
                return 0, 1, 0
            if segment == '__AUTH':
                return (1, 1, 0x4321) if section == '__b' else (0, 0, 0x1234)
    return None


base = next(start - place for start, place, size in segments if size != 0 and place == 0)
count = 0
starts = chains + word(chains + 4)
for i in range(word(starts)):
    info = starts + word(starts + 4 + i * 4)
    if info == starts:
        continue
    page_size, pointers, pages = half(info + 4), half(info + 6), half(info + 20)
    assert pointers == POINTER64, pointers
    struct.pack_into('<H', data, info + 6, USERLAND24)
    for page in range(pages):
        place = half(info + 22 + page * 2)
        while place != 0xffff:
            at = segments[i][1] + page * page_size + place
            raw = quad(at)
            next_ = raw >> 51 & 0xfff
            assert next_ % 2 == 0 and next_ * 4 < page_size
            new = next_ // 2 << 51
            how = signing(segments[i][0] + page * page_size + place)
            if raw >> 63:
                assert raw >> 24 & 0xff == 0, 'an addend'
                new |= raw & 0xffffff | 1 << 62
                if how:
                    new |= how[2] << 32 | how[1] << 48 | how[0] << 49 | 1 << 63
                    count += 1
            else:
                new |= (raw & 0xfffffffff) - base | (raw >> 36 & 0xff) << 43
            struct.pack_into('<Q', data, at, new)
            place = place + next_ * 4 if next_ else 0xffff
struct.pack_into('<I', data, 8, CPU_SUBTYPE_ARM64E | PTRAUTH_ABI)
open(sys.argv[2], 'wb').write(data)
print(count, 'signed pointers')
