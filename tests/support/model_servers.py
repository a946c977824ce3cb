"""A server that speaks OpenAI's protocol and answers, or fails to, as a test wants it to."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def chat(text, finish="stop", **message):
    """The body of an answer."""
    said = {"role": "assistant", "content": text, **message}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
    }


def failing(status, message="no", **more):
    """An answer that is an error."""
    return {"status": status, "body": {"error": {"message": message, **more}}}


class Scripted:
    """What is answered, one after the other, and what was asked."""

    def __init__(self, answers, models=("scripted",)):
        self.answers, self.models, self.asked, self.keys = list(answers), models, [], []

    def next(self):
        answer = self.answers[min(len(self.asked) - 1, len(self.answers) - 1)]
        if isinstance(answer, str):
            return {"body": chat(answer)}
        return answer if "body" in answer or "raw" in answer else {"body": answer}


@contextmanager
def serving(*answers, models=("scripted",)):
    """A running server: its script and its address."""
    script = Scripted(answers, models)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            names = [
                {"id": name, "object": "model", "created": 0, "owned_by": ""} for name in models
            ]
            self.reply(200, json.dumps({"object": "list", "data": names}).encode())

        def do_POST(self):
            size = int(self.headers["content-length"])
            script.asked.append(json.loads(self.rfile.read(size)))
            script.keys.append(self.headers["authorization"])
            answer = script.next()
            time.sleep(answer.get("delay", 0))
            body = answer.get("raw") or json.dumps(answer["body"]).encode()
            self.reply(answer.get("status", 200), body)

        def reply(self, status, body):
            try:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                if status == 429:
                    self.send_header("retry-after-ms", "1")
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # whoever asked has gone

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield script, f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
