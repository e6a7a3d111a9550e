#!/usr/bin/env python3
"""Checks evidence bundles. Written from the public description of the format ("Evidências que qualquer um confere")
and from nothing else, so that it shares no mistake with the program that makes them.

    verify.py FILE... [--key VKEY] [--json]

Prints what holds and the first thing that does not; with --json, for each file a line {file, ok, step, detail}, where
step is the one that does not hold (null if all hold, or if the file cannot be read). Exit code: 0 all hold, 1 something
does not, 2 a file cannot be read or is no ZIP. Needs Python 3.8 and, only for time-stamps and signed PDFs, openssl.
"""
import argparse, base64, calendar, datetime, decimal, functools, hashlib, json, os, re, ssl, struct, subprocess
import sys, tempfile, zlib

ALWAYS = ["LEIA-ME.txt", "events.json", "keys.json", "manifest.json", "manifest.sig", "status.json"]
# the other files that a bundle may have: those in folders are looked at by later steps
EXPECTED = re.compile(r"checkpoint\.txt|log\.json|(time-stamps|content|attachments|recordings|documents)/.+")
SENT = re.compile(r"content/([1-9][0-9]{0,8})-([a-z]+)\.[a-z0-9]+")
RECORDING = re.compile(r"recordings/([1-9][0-9]{0,8})\.wav")
ATTACHMENT = re.compile(r"attachments/([1-9][0-9]{0,8})-(.*)")
PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HEX64, HEX32 = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{32}")
DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.[0-9]{3}Z")
SAFE = 2 ** 53  # integers are smaller than this

class Fault(Exception):
    """The first thing that does not hold: what it is about, and why."""

class Unreadable(Exception):
    """Not a bundle at all, or one that cannot be checked here."""

def require(holds, subject, why):
    if not holds:
        raise Fault(f"{subject}: {why}")

def sha256(data):
    return hashlib.sha256(data).digest()

def is_int(value, least=0):
    return type(value) is int and least <= value < SAFE  # so that true is not 1

def is_text(value, form=None):
    return isinstance(value, str) and (form is None or form.fullmatch(value) is not None)

def is_date(value):
    match = DATE.fullmatch(value) if isinstance(value, str) else None
    try:  # the calendar repeats every 400 years: so the year 0000 exists, too
        year, *rest = map(int, match.groups())
        return bool(datetime.datetime(2000 + year % 400, *rest))
    except (AttributeError, ValueError):
        return False

def is_time(line):
    return line.startswith("time ") and is_date(line[5:])

# --- canonical JSON (RFC 8785) ---------------------------------------------------------------------------------------

def read_integer(digits):
    return int(digits) if len(digits) < 18 and abs(int(digits)) < SAFE else float(digits)

def write_number(value):
    """As ECMAScript does."""
    if isinstance(value, int):
        return str(value)
    if abs(value) == float("inf"):
        raise ValueError("a number out of range")
    if value == 0:
        return "0"
    _, digits, exponent = decimal.Decimal(repr(value)).as_tuple()  # the shortest digits that read back the same
    point = len(digits) + exponent  # the value is 0.digits × 10^point
    digits = "".join(map(str, digits)).rstrip("0")
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + ("." + digits[1:] if digits[1:] else "") + "e%+d" % (point - 1)
    return ("-" if value < 0 else "") + text

def write_json(value):
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[" + ",".join(map(write_json, value)) + "]"
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(write_json(key) + ":" + write_json(value[key]) for key in keys) + "}"
    return write_number(value)

def canonical(value):
    return write_json(value).encode("utf-8")

def read_canonical(files, path):
    try:
        value = json.loads(files[path].decode("utf-8"), parse_int=read_integer,
                           parse_constant=int)  # int("NaN") is an error
        same = canonical(value) == files[path]  # this also finds a member given twice
    except (ValueError, RecursionError) as error:
        raise Fault(f"{path}: is not JSON that can be read ({error})")
    require(same, path, "is not canonical JSON (RFC 8785)")
    return value

def members(value, names, subject):
    require(isinstance(value, dict) and sorted(value) == sorted(names.split()), subject,
            f"is not an object with exactly the members {names}")

# --- Ed25519 (RFC 8032, 5.1.7), points as (X, Y, Z, T) ---------------------------------------------------------------

P = 2 ** 255 - 19
L = 2 ** 252 + 27742317777372353535851937790883648493  # the order of the base point
D = -121665 * pow(121666, P - 2, P) % P

def add(a, b):  # also of a point to itself
    u, v = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    w, z = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = v - u, z - w, z + w, v + u
    return e * f % P, g * h % P, f * g % P, e * h % P

@functools.lru_cache(None)
def decode_point(data):
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (2 ** 255 - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or x * x % P != square or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P

BASE = decode_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))

@functools.lru_cache(4096)
def ed25519_holds(key, message, signature):
    point, s = decode_point(key), int.from_bytes(signature[32:], "little")
    if point is None or s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    minus = (P - point[0], point[1], 1, P - point[3])
    table = [None, BASE, minus, add(BASE, minus)]
    result = (0, 1, 1, 0)
    for bit in range(252, -1, -1):  # [s]B - [k]A, both at once
        result = add(result, result)
        pick = table[(s >> bit & 1) + 2 * (k >> bit & 1)]
        result = add(result, pick) if pick else result
    inverse = pow(result[2], P - 2, P)
    x, y = result[0] * inverse % P, result[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == signature[:32]

# --- signed notes and keys -------------------------------------------------------------------------------------------

def read_base64(text):
    """Nothing if it is not in its one form."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return b""
    return data if base64.b64encode(data).decode() == text else b""

def is_name(name):
    return name != "" and not any(c == "+" or c < " " or c.isspace() for c in name)

def read_key(vkey, types):
    """NAME+IDENTIFIER+BASE64 as (name, identifier, type, key)."""
    name, identifier, encoded = (vkey.split("+", 2) + ["", ""])[:3]
    data = read_base64(encoded)
    require(is_name(name) and len(data) == 33 and data[0] in types, "keys.json", f"not a key of this kind: {vkey!r}")
    right = sha256(name.encode() + b"\n" + data)[:4]
    require(identifier == right.hex(), "keys.json", f"the identifier of {vkey!r} should be {right.hex()}")
    return name, right, data[0], data[1:]

def read_note(files, path):
    """A signed note as (signed text, [(name, key identifier, signature)])."""
    try:
        text, blank, lines = files[path].decode("utf-8").rpartition("\n\n")
    except UnicodeDecodeError:
        raise Fault(f"{path}: is not UTF-8")
    require(blank and lines.endswith("\n"), path, "is not a signed note")
    require(not any(c < " " and c != "\n" for c in text), path, "has control characters")
    signatures = []
    for line in lines[:-1].split("\n"):
        dash, name, encoded = (line.split(" ") + ["", ""])[:3]
        signature = read_base64(encoded)
        require(line == f"\u2014 {name} {encoded}" and is_name(name) and len(signature) >= 5, path,
                f"not a signature line: {line!r}")
        signatures.append((name, signature[:4], signature[4:]))
    return text + "\n", signatures

def signed_by(key, text, signatures, path):
    """One entry (for a witness, when it saw the note) for each signature of this key; all of them must hold."""
    name, identifier, kind, public = key
    seen = []
    for signature in (s[2] for s in signatures if s[:2] == (name, identifier)):
        message, seconds = text.encode(), None
        if kind == 4:
            seconds, signature = int.from_bytes(signature[:8], "big"), signature[8:]
            message = b"cosignature/v1\ntime %d\n" % seconds + message
        require(len(signature) == 64 and ed25519_holds(public, message, signature), path,
                f"the signature of {name} does not hold")
        seen.append(seconds)
    return seen

# --- time-stamp tokens (RFC 3161) and signed PDFs, with openssl ------------------------------------------------------

def der(data):
    """The elements of a piece of DER, as (tag, content, whole)."""
    elements, at = [], 0
    while at < len(data):
        size, start = data[at + 1], at + 2
        if size >= 128:
            count = size - 128
            size, start = int.from_bytes(data[start:start + count], "big"), start + count
            if not 1 <= count <= 4 or size < 128 or size >> 8 * (count - 1) == 0:
                raise ValueError("a length that is not DER")
        if start + size > len(data):
            raise ValueError("ends too early")
        elements.append((data[at], data[start:start + size], data[at:start + size]))
        at = start + size
    return elements

def open_cms(data):
    """SignedData with one signer as (type and content, certificate of the signer as PEM, its common name)."""
    (_, outer, _), = der(data)
    kind, wrapped = der(outer)
    (_, signed, _), = der(wrapped[1])
    parts = der(signed)  # version, digest algorithms, content, [0] certificates, [1] lists, signers
    (_, signer, _), = der(parts[-1][1])
    if kind[2].hex() != "06092a864886f70d010702":
        raise ValueError("not SignedData")
    who = der(signer)[1]
    for _, _, certificate in (c for part in parts if part[0] == 0xA0 for c in der(part[1])):
        fields = [f for f in der(der(der(certificate)[0][1])[0][1]) if f[0] != 0xA0]
        serial, _, issuer, _, subject = fields[:5]
        if who[1] == issuer[2] + serial[2] or (who[0] == 0x80 and who[1] in fields[-1][1]):
            names = [der(der(part)[0][1]) for _, part, _ in der(subject[1])]
            name = [n[1][1].decode("utf-8", "replace") for n in names if n[0][1].hex() == "550403"]
            return der(parts[2][1]), ssl.DER_cert_to_PEM_cert(certificate), "".join(name[:1]) or "(no name)"
    raise ValueError("without the certificate of its signer")

def openssl(arguments, **inputs):
    """Runs openssl with these inputs as files, which the arguments name as {name}. None if it verifies."""
    with tempfile.TemporaryDirectory() as folder:
        names = {name: os.path.join(folder, name) for name in inputs}
        for name, data in inputs.items():
            with open(names[name], "wb") as file:
                file.write(data)
        try:
            run = subprocess.run(["openssl"] + [a.format(**names) for a in arguments.split()],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        except OSError as error:
            raise Unreadable(f"the openssl program is needed: {error}")
    error = (run.stderr.decode("utf-8", "replace").strip().split("\n")[-1] + ":" * 9).split(":")
    return None if run.returncode == 0 else f"its signature does not hold (openssl: {error[5] or error[0]} {error[9]})"

@functools.lru_cache(None)
def check_token(token, digest):
    """(fault or None, what the token says). The certificate that comes in the token is taken as trusted."""
    try:
        (kind, content), pem, name = open_cms(token)
        (_, info, _), = der(der(content[1])[0][1])
        _, _, imprint, _, moment = der(info)[:5]
        algorithm, hashed = der(imprint[1])
        moment = re.fullmatch(r"([0-9]{14})(\.[0-9]+)?Z", moment[1].decode("ascii"))
        moment = datetime.datetime.strptime(moment[1], "%Y%m%d%H%M%S")
        right = kind[2].hex() == "060b2a864886f70d0109100104" and algorithm[1][:11].hex() == "0609608648016503040201"
    except (ValueError, IndexError, TypeError) as error:
        return f"is not an RFC 3161 token ({error})", None
    if not right or hashed[1] != digest:
        return "is not over the SHA-256 of the signed text of checkpoint.txt", None
    fault = openssl(f"ts -verify -token_in -in {{token}} -digest {digest.hex()} -CAfile {{signer}} -partial_chain"
                    f" -attime {calendar.timegm(moment.timetuple())}", token=token, signer=pem.encode())
    return fault, f"{moment.isoformat()}Z by {name}"

def check_pdf(data):
    """(fault or None, who signed, certificate): a signature must cover all bytes but its own."""
    for match in re.finditer(rb"/ByteRange\s*\[\s*0\s+(\d+)\s+(\d+)\s+(\d+)\s*\]", data):
        end, start, rest = map(int, match.groups())
        gap = re.fullmatch(rb"<((?:[0-9A-Fa-f]{2})+)>", data[end:start])
        if start + rest != len(data) or not gap:
            continue
        try:
            padded = bytes.fromhex(gap[1].decode())
            cms = padded[:4 + int.from_bytes(padded[2:4], "big")]  # its length is always one of two bytes
            if padded[len(cms):].strip(b"\0"):
                raise ValueError("bytes after it")
            _, pem, name = open_cms(cms)
        except (ValueError, IndexError, TypeError) as error:
            return f"its signature cannot be read ({error})", None, None
        fault = openssl("cms -verify -binary -noverify -inform DER -in {cms} -content {content}",
                        cms=cms, content=data[:end] + data[start:])
        return fault, name, pem
    return "has no signature that covers all of it", None, None

# --- the steps, in order ---------------------------------------------------------------------------------------------

class Bundle:
    """Each step returns what it found, or raises Fault. Later steps use what earlier ones left here."""

    def __init__(self, data, known_key):
        self.data, self.known_key, self.notes, self.files = data, known_key, [], {}

    def step_zip(self):
        data, at, previous, directory = self.data, 0, b"", b""
        while data[at:at + 4] == b"PK\3\4":
            head = data[at:at + 30]
            require(len(head) == 30, "ZIP", "ends within a header")
            crc, size, length = struct.unpack("<14xI4xIH2x", head)
            path = data[at + 30:at + 30 + length]
            name = path.decode("ascii", "replace")
            require(len(path) == length <= 200 and is_text(name, PATH), "ZIP", f"may not have a path {name[:200]!r}")
            rebuilt = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0x21, crc, size, size, length, 0)
            require(head == rebuilt, name, "its header has values that may not be")
            require(path > previous, name, "is not in order")
            content = data[at + 30 + length:at + 30 + length + size]
            require(len(content) == size, name, "ends before its size")
            require(zlib.crc32(content) == crc, name, "does not have its CRC-32")
            directory += b"PK\1\2" + struct.pack("<H", 20) + head[4:] + bytes(10) + struct.pack("<I", at) + path
            self.files[name], previous, at = content, path, at + 30 + length + size
        require(len(self.files) < 2 ** 16 and at + len(directory) < 2 ** 32, "ZIP", "too large")
        end = struct.pack("<4s4xHHII2x", b"PK\5\6", len(self.files), len(self.files), len(directory), at)
        require(data[at:] == directory + end, "ZIP", "its directory and end are not those of its files")
        return f"{len(self.files)} files"

    def step_manifest(self):
        files, subject = self.files, "manifest.json"
        require(subject in files, subject, "is missing")
        manifest = read_canonical(files, subject)
        members(manifest, "files notification v", subject)
        require(is_int(manifest["v"]) and manifest["v"] == 1 and is_text(manifest["notification"], UUID)
                and isinstance(manifest["files"], list), subject, "a member does not have its form")
        for entry in manifest["files"]:
            members(entry, "path sha256 size", subject)
            require(is_text(entry["path"]) and is_text(entry["sha256"], HEX64) and is_int(entry["size"]), subject,
                    f"an entry that may not be: {entry}")
        listed = [entry["path"] for entry in manifest["files"]]
        known = set(listed)
        require(listed == sorted(known), subject, "its list is not in order")
        for entry in manifest["files"]:
            path = entry["path"]
            require(path in files and path not in ("manifest.json", "manifest.sig"), path, "is listed and not there")
            require(len(files[path]) == entry["size"], path, "does not have the size of the list")
            require(sha256(files[path]).hex() == entry["sha256"], path, "does not have the SHA-256 of the list")
        for path in files:
            require(path in known or path in ("manifest.json", "manifest.sig"), path, "is not in the list")
            require(path in ALWAYS or EXPECTED.fullmatch(path), path, "is no file of a bundle")
        for path in ALWAYS:
            require(path in files, path, "is missing")
        for path in files:
            require(path != "checkpoint.txt" or "log.json" in files, "log.json", "is missing")
            require("checkpoint.txt" in files or not path.startswith(("log.json", "time-stamps/")), "checkpoint.txt",
                    f"is missing, and {path} is there")
        self.notification = manifest["notification"]
        return f"{len(listed)} files of notification {self.notification}"

    def step_signature(self):
        keys = read_canonical(self.files, "keys.json")
        members(keys, "documents log v witnesses", "keys.json")
        require(is_int(keys["v"]) and keys["v"] == 1, "keys.json", "its version is not 1")
        for value in (keys["documents"], keys["witnesses"], [keys["log"]]):
            require(isinstance(value, list) and all(map(is_text, value)), "keys.json", "a key is not text")
        self.log_key = read_key(keys["log"], (1,))
        self.witness_keys = [read_key(vkey, (1, 4)) for vkey in keys["witnesses"]]
        require(all(key[3] != self.log_key[3] for key in self.witness_keys), "keys.json", "the log is its own witness")
        self.certificates = keys["documents"]
        require(self.known_key in (None, keys["log"]), "keys.json", f"the log key is not the one given: {keys['log']}")
        text, signatures = read_note(self.files, "manifest.sig")
        lines = text.split("\n")
        require(len(signatures) == 1, "manifest.sig", "has more than one signature")
        require(lines[:3] == ["carteiro/bundle/v1", self.notification, sha256(self.files["manifest.json"]).hex()]
                and len(lines) == 5 and is_time(lines[3]), "manifest.sig", "is not about this notification and list")
        require(signed_by(self.log_key, text, signatures, "manifest.sig"), "manifest.sig", "is not of the log key")
        if self.known_key is None:
            self.notes.append(f"whose key this is stays unproven: {keys['log']}")
        return f"{self.log_key[0]}, {lines[3]}"

    def step_events(self):
        self.events = read_canonical(self.files, "events.json")
        require(isinstance(self.events, list) and self.events, "events.json", "is not a list of events")
        previous = {"hash": "0" * 64, "at": ""}
        for number, event in enumerate(self.events, 1):
            subject = f"evento {number}"
            members(event, "at commit data hash notification prev salt seq source type", subject)
            erased = event["salt"] is None and event["data"] is None
            require(is_date(event["at"]) and all(is_text(event[m], HEX64) for m in ("commit", "hash", "prev"))
                    and is_text(event["source"]) and is_text(event["type"])
                    and (erased or is_text(event["salt"], HEX32)), subject, "a member does not have its form")
            require(event["notification"] == self.notification, subject, "is of another notification")
            require(is_int(event["seq"]) and event["seq"] == number, subject, "its seq is not the next")
            require(event["at"] >= previous["at"], subject, "is dated before the event that precedes it")
            require(event["prev"] == previous["hash"], subject, "prev is not the hash of the event before")
            covered = {m: event[m] for m in ("notification", "seq", "at", "type", "source", "commit", "prev")}
            require(sha256(canonical({"v": 1, **covered})).hex() == event["hash"], subject, "does not have its hash")
            if erased:
                self.notes.append(f"{subject}: its data were erased; what they said stays unproven")
            else:
                commit = sha256(bytes.fromhex(event["salt"]) + canonical(event["data"])).hex()
                require(event["commit"] == commit, subject, "its data do not have its commit")
            previous = event
        return f"{len(self.events)} events"

    def step_files(self):
        def found(value, *way):
            for key in way:
                inside = len(value) > key if isinstance(value, list) and isinstance(key, int) else \
                    isinstance(value, dict) and key in value
                value = value[key] if inside else None
            return value
        proven = 0
        for path, content in self.files.items():
            if path.partition("/")[0] not in ("attachments", "content", "recordings"):
                continue
            seq, way, fits = 0, (), lambda data: True
            sent, recording, attachment = SENT.fullmatch(path), RECORDING.fullmatch(path), ATTACHMENT.fullmatch(path)
            if path == "content/request.html":
                seq, way = 1, ("contentSha256",)
            elif sent:
                seq, way, fits = int(sent[1]), ("content", "sha256"), lambda data: found(data, "channel") == sent[2]
            elif recording:
                seq, way = int(recording[1]), ("recording",)
            elif attachment:
                place = int(attachment[1]) - 1
                def fits(data):
                    name = found(data, "attachments", place, "name")
                    plain = re.sub("[^A-Za-z0-9._-]", "-", name[-100:]) if is_text(name) else ""
                    return plain == attachment[2]
                seq, way = 1, ("attachments", place, "sha256")
            require(0 < seq <= len(self.events), path, "belongs to no event")
            event = self.events[seq - 1]
            if event["salt"] is None:
                self.notes.append(f"{path}: the data that could prove it were erased; it stays unproven")
                continue
            require(sha256(content).hex() == found(event["data"], *way) and fits(event["data"]), path,
                    f"its SHA-256 is not in event {seq}")
            proven += 1
        return f"{proven} files are in the events"

    def step_inclusion(self):
        self.text, self.signatures = read_note(self.files, "checkpoint.txt")
        lines = self.text.split("\n")
        require(len(lines) == 5 and is_text(lines[1], re.compile("[1-9][0-9]{0,15}")) and int(lines[1]) < SAFE
                and is_text(lines[2], re.compile("[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=")) and is_time(lines[3]),
                "checkpoint.txt", "is not a checkpoint")
        self.origin, size, root = lines[0], int(lines[1]), base64.b64decode(lines[2])
        log, last, leaves = read_canonical(self.files, "log.json"), 0, set()
        members(log, "events origin size", "log.json")
        require(log["origin"] == self.origin and is_int(log["size"]) and log["size"] == size, "log.json",
                "its origin or its size is not that of the checkpoint")
        require(isinstance(log["events"], list) and log["events"], "log.json", "has no proofs")
        for proof in log["events"]:
            members(proof, "leaf path seq", "log.json")
            require(is_int(proof["seq"], 1) and is_int(proof["leaf"]) and isinstance(proof["path"], list)
                    and all(is_text(node, HEX64) for node in proof["path"]), "log.json", "a proof that may not be")
            require(last < proof["seq"] <= len(self.events), "log.json", "proofs out of order, or of no event")
            require(proof["leaf"] not in leaves, "log.json", "two proofs with the same leaf")
            last = proof["seq"]
            leaves.add(proof["leaf"])
        for proof in log["events"]:
            subject, fn, sn = f"evento {proof['seq']}", proof["leaf"], size - 1
            require(fn < size, subject, "its leaf is beyond the size of the log")
            node = sha256(b"\0" + bytes.fromhex(self.events[proof["seq"] - 1]["hash"]))
            for sibling in map(bytes.fromhex, proof["path"]):
                require(sn > 0, subject, "its path is too long")
                if fn % 2 == 1 or fn == sn:
                    node = sha256(b"\1" + sibling + node)
                    while fn % 2 == 0 and fn != 0:
                        fn, sn = fn // 2, sn // 2
                else:
                    node = sha256(b"\1" + node + sibling)
                fn, sn = fn // 2, sn // 2
            require(sn == 0 and node == root, subject, "its path does not lead to the root")
        proven = {proof["seq"] for proof in log["events"]}
        self.notes.extend(f"evento {event['seq']}: without proof that it is in the log"
                          for event in self.events if event["seq"] not in proven)
        return f"{len(proven)} of {len(self.events)} events are in the log of {size}, {lines[3]}"

    def step_checkpoint(self):
        require(self.origin == self.log_key[0], "checkpoint.txt", "its origin is not the name of the log key")
        require(signed_by(self.log_key, self.text, self.signatures, "checkpoint.txt"), "checkpoint.txt",
                "is not signed by the log key")
        return self.origin

    def step_witnesses(self):
        seen = [f"{key[0]} {seconds or ''}".strip() for key in self.witness_keys
                for seconds in signed_by(key, self.text, self.signatures, "checkpoint.txt")]
        known = {key[:2] for key in self.witness_keys + [self.log_key]}
        self.notes.extend(f"checkpoint.txt: no key for the signature of {name} ({identifier.hex()})"
                          for name, identifier, _ in self.signatures if (name, identifier) not in known)
        return ", ".join(seen) or "none"

    def step_time_stamps(self):
        said = []
        for path in (path for path in self.files if path.startswith("time-stamps/")):
            fault, says = check_token(self.files[path], sha256(self.text.encode()))
            require(fault is None, path, fault)
            said.append(says)
            self.notes.append(f"{path}: whether its authority is to be trusted stays unproven")
        return ", ".join(said) or "none"

    def step_documents(self):
        said = []
        for path in (path for path in self.files if path.startswith("documents/")):
            fault, name, pem = check_pdf(self.files[path])
            require(fault is None, path, fault)
            require(pem.split() in [text.split() for text in self.certificates], path,
                    "is signed with a certificate that is not in keys.json")
            said.append(f"{path} by {name}")
        return ", ".join(said) or "none"

STEPS = "zip manifest signature events files inclusion checkpoint witnesses time-stamps documents".split()
ONLY_WITH_CHECKPOINT = STEPS[5:9]

def verify(path, known_key, say):
    """(ok, step that does not hold, detail)."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Unreadable(error.strerror)
    if data[:4] != b"PK\3\4":
        raise Unreadable("is a PDF: take the evidencia.zip out of it" if data[:5] == b"%PDF-" else "is not a ZIP")
    bundle = Bundle(data, known_key)
    for step in STEPS:
        if step in ONLY_WITH_CHECKPOINT and "checkpoint.txt" not in bundle.files:
            say(f"  {step:12} not in this bundle")
            continue
        try:
            say(f"  {step:12} holds: " + getattr(bundle, "step_" + step.replace("-", "_"))())
        except Fault as fault:
            say(f"  {step:12} DOES NOT HOLD: {fault}")
            return False, step, str(fault)
    for note in bundle.notes:
        say(f"  note         {note}")
    return True, None, "; ".join(bundle.notes)

def main():
    parser = argparse.ArgumentParser(description="Checks evidence bundles.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--key", metavar="VKEY", help="the public key of the log, from another source")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each file")
    options = parser.parse_intermixed_args()
    sys.stdout.reconfigure(errors="backslashreplace")
    code = 0
    def say(line):  # a bundle may hold characters that a terminal would obey
        if not options.json:
            print("".join(c if c.isprintable() else "?" for c in line))
    for path in options.files:
        say(path)
        try:
            ok, step, detail = verify(path, options.key, say)
            code = max(code, 0 if ok else 1)
        except Unreadable as error:
            ok, step, detail, code = False, None, str(error), 2
            say(f"  cannot be checked: {detail}")
        if options.json:
            print(json.dumps({"file": path, "ok": ok, "step": step, "detail": detail}), flush=True)
    return code

if __name__ == "__main__":
    sys.exit(main())
