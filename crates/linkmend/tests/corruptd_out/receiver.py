"""A webhook's receiver, of Python's standard library alone: receiver.py PORT KEY MODE RECORD

It verifies each request as Standard Webhooks demands, appends a JSON line about it to the file RECORD, and answers as the
file MODE says at that moment.
"""

import base64
import hashlib
import hmac
import json
import pathlib
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

port, key, mode, record = int(sys.argv[1]), *map(pathlib.Path, sys.argv[2:5])
secret = base64.b64decode(key.read_text().strip().removeprefix("whsec_"), validate=True)
lock = threading.Lock()


def is_signed(headers, body):
    identity, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    signed = f"{identity}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    is_now = abs(time.time() - int(timestamp)) < 300
    return is_now and hmac.compare_digest(f"v1,{expected}", headers["webhook-signature"])


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = mode.read_text().strip()
        line = {
            "path": self.path,
            "id": self.headers["webhook-id"],
            "signed": is_signed(self.headers, body),
            "authorization": self.headers["Authorization"],
            "answer": answer,
            "body": json.loads(body),
        }
        with lock, record.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if answer == "hang":
            time.sleep(3600)
        elif answer == "close":
            # In the middle of an answer.
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
            self.close_connection = True
        else:
            self.send_response(int(answer))
            if answer.startswith("3"):
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"x\n")

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", port), Receiver)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
