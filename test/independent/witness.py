#!/usr/bin/env python3
"""A witness of transparency logs (C2SP tlog-witness, tlog-cosignature v1), written from the specifications alone.

Uses the standard library and the openssl program. Usage: witness.py NAME LOG_VKEY FOLDER
Prints its own vkey and the port on which it listens, on one line. The state lives as long as the process.
"""
import base64
import hashlib
import http.server
import os
import struct
import subprocess
import sys
import time

ED25519_SPKI = bytes.fromhex('302a300506032b6570032100')
LOG_TYPE, WITNESS_TYPE = 1, 4


def openssl(*arguments, data=b''):
    return subprocess.run(['openssl', *arguments], input=data, capture_output=True)


class Key:
    """A name and an Ed25519 public key; the key id is the beginning of SHA-256(name, LF, type, key)."""

    def __init__(self, name, kind, raw):
        self.name, self.kind, self.raw = name, kind, raw
        typed = bytes([kind]) + raw
        self.id = hashlib.sha256(name.encode() + b'\n' + typed).digest()[:4]
        self.vkey = '%s+%s+%s' % (name, self.id.hex(), base64.b64encode(typed).decode())

    @classmethod
    def parse(cls, vkey):
        name, key_id, encoded = vkey.split('+', 2)
        typed = base64.b64decode(encoded)
        key = cls(name, typed[0], typed[1:])
        assert key.id.hex() == key_id
        return key

    def verifies(self, folder, message, signature):
        paths = [os.path.join(folder, name) for name in ('log.pub', 'message', 'signature')]
        for path, data in zip(paths, (ED25519_SPKI + self.raw, message, signature)):
            with open(path, 'wb') as file:
                file.write(data)
        done = openssl('pkeyutl', '-verify', '-rawin', '-pubin', '-keyform', 'DER', '-inkey', paths[0], '-in', paths[1], '-sigfile', paths[2])
        return done.returncode == 0


def node(left, right):
    return hashlib.sha256(b'\x01' + left + right).digest()


def is_consistent(m, old_root, n, new_root, proof):
    """RFC 9162, 2.1.4.2."""
    if m == 0:
        return proof == []
    if m == n:
        return proof == [] and old_root == new_root
    if m > n or not proof and m & (m - 1):
        return False
    path = ([old_root] if m & (m - 1) == 0 else []) + proof
    if not path:
        return False
    fn, sn = m - 1, n - 1
    while fn & 1:
        fn >>= 1
        sn >>= 1
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node(c, fr), node(c, sr)
            while fn and not fn & 1:
                fn >>= 1
                sn >>= 1
        else:
            sr = node(sr, c)
        fn >>= 1
        sn >>= 1
    return sn == 0 and fr == old_root and sr == new_root


class Refused(Exception):
    def __init__(self, status, body=b'', kind='text/plain'):
        self.status, self.body, self.kind = status, body, kind


class Witness:
    def __init__(self, name, log, folder):
        self.log, self.folder = log, folder
        self.private = os.path.join(folder, 'witness.pem')
        assert openssl('genpkey', '-algorithm', 'ed25519', '-out', self.private).returncode == 0
        spki = openssl('pkey', '-in', self.private, '-pubout', '-outform', 'DER').stdout
        self.key = Key(name, WITNESS_TYPE, spki[len(ED25519_SPKI):])
        self.size, self.root = 0, None

    def add_checkpoint(self, body):
        head, _, note = body.partition('\n\n')
        lines = head.split('\n')
        if not lines[0].startswith('old ') or not note:
            raise Refused(400)
        old = int(lines[0][4:])
        proof = [base64.b64decode(line, validate=True) for line in lines[1:]]
        text, _, signatures = note.rpartition('\n\n')
        text += '\n'
        origin, size, root = text.split('\n')[:3]
        size, root = int(size), base64.b64decode(root, validate=True)
        if origin != self.log.name:
            raise Refused(404)
        if not any(self.is_signed(text, line) for line in signatures.splitlines()):
            raise Refused(403)
        if old > size:
            raise Refused(400)
        if old != self.size:
            raise Refused(409, b'%d\n' % self.size, 'text/x.tlog.size')
        if old == size and self.root is not None and root != self.root:
            raise Refused(409, b'%d\n' % self.size, 'text/x.tlog.size')
        if not is_consistent(old, self.root, size, root, proof):
            raise Refused(422)
        self.size, self.root = size, root
        return self.cosign(text)

    def is_signed(self, text, line):
        mark, name, encoded = line.split(' ')
        signed = base64.b64decode(encoded)
        if mark != '\u2014' or name != self.log.name or signed[:4] != self.log.id:
            return False
        return self.log.verifies(self.folder, text.encode(), signed[4:])

    def cosign(self, text):
        seconds = int(time.time())
        path = os.path.join(self.folder, 'cosigned')
        with open(path, 'wb') as file:
            file.write(b'cosignature/v1\ntime %d\n' % seconds + text.encode())
        signature = openssl('pkeyutl', '-sign', '-rawin', '-inkey', self.private, '-in', path).stdout
        assert len(signature) == 64
        encoded = base64.b64encode(self.key.id + struct.pack('>Q', seconds) + signature).decode()
        return '\u2014 %s %s\n' % (self.key.name, encoded)


def main():
    name, vkey, folder = sys.argv[1:]
    witness = Witness(name, Key.parse(vkey), folder)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get('content-length', '0'))).decode()
            try:
                if not self.path.endswith('/add-checkpoint'):
                    raise Refused(404)
                self.answer(200, witness.add_checkpoint(body).encode(), 'text/plain')
            except Refused as refused:
                self.answer(refused.status, refused.body, refused.kind)
            except ValueError:
                self.answer(400, b'', 'text/plain')

        def answer(self, status, body, kind):
            self.send_response(status)
            self.send_header('content-type', kind)
            self.send_header('content-length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
    print(witness.key.vkey, server.server_address[1], flush=True)
    server.serve_forever()


main()
