"""Verifies the chain of an audit file with Python's standard library alone: chain.py FILE [KEY]"""

import base64
import hashlib
import hmac
import json
import pathlib
import sys

secret = None
if len(sys.argv) > 2:
    secret = base64.b64decode(pathlib.Path(sys.argv[2]).read_text().strip().removeprefix("whsec_"))
previous, number = None, 0
for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    said = json.loads(line)
    content = line[: line.rindex(',"seal":')].encode()
    if secret is None:
        seal = "sha256:" + hashlib.sha256(content).hexdigest()
    else:
        seal = "hmac-sha256:" + hmac.new(secret, content, hashlib.sha256).hexdigest()
    number += 1
    assert (said["seal"], said["previous"], said["number"]) == (seal, previous, number), line
    previous = seal
print(number)
