"""parley -- a small client: say something, hear typed events, decide what waits.

    from parley import Parley, TextDelta, ToolConfirmation

    chat = Parley("http://127.0.0.1:8000", key="pk_...")
    run = chat.say("Send 50 dollars to Hanako")
    for event in run:
        if isinstance(event, TextDelta):
            print(event.text, end="")
        elif isinstance(event, ToolConfirmation):
            print(event.ask, event.input)
    for request in run.awaiting:
        chat.decide(request, True)
    for event in run.go_on(): ...

A connection that breaks is come back to: with the same request when nothing was told yet, else from
the last place that was told, so that no event is lost or told twice. Numbers with a fraction are
Decimal: what is shown to a person is what the server has, to the digit. Nothing but the standard
library; not for threads: give each its own Parley.
"""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from dataclasses import dataclass, field, fields
from decimal import Decimal
from http.client import HTTPException
from typing import Any, Iterator, Optional

__all__ = ["Parley", "Run", "Refused", "Lost", "Event", "Status", "TextDelta", "ReasoningDelta", "Intent",
           "ToolConfirmation", "ToolStart", "ToolProgress", "ToolComplete", "Complete", "Failed",
           "Cancelled", "StepReset", "Restarting", "Unknown"]

SILENT_S = 60          # the server says something every 15 s: longer is a dead connection
TRIES = 12             # about a minute of coming back, between two events
PAUSE_S, PAUSE_MAX_S = 0.25, 5.0


class Refused(Exception):
    """The server's answer was a refusal: `status`, `code` for programs, `message` for people."""

    def __init__(self, status: int, code: str, message: str, body: Any):
        super().__init__(f"{message} ({status} {code})")
        self.status, self.code, self.message, self.body = status, code, message, body


class Lost(Exception):
    """The server did not come back. What was told before is saved there; go_on() tries again."""


@dataclass(frozen=True)
class Event:
    """`raw`: all members, also those this client does not know; `id`: the place, None if it has none."""

    raw: dict = field(repr=False)
    id: Optional[str]


@dataclass(frozen=True)
class Status(Event):
    message: str


@dataclass(frozen=True)
class TextDelta(Event):
    text: str


@dataclass(frozen=True)
class ReasoningDelta(Event):
    text: str


@dataclass(frozen=True)
class Intent(Event):
    message: str
    tool: str
    tool_use_id: str


@dataclass(frozen=True)
class ToolConfirmation(Event):
    confirmation_id: str
    tool: str
    tool_use_id: str
    input: Any
    ask: Optional[str]
    risk: Optional[str]
    expires_at: Optional[str]


@dataclass(frozen=True)
class ToolStart(Event):
    tool: str
    tool_use_id: str
    input: Any
    where: Optional[str]     # "client": somebody has to send its result


@dataclass(frozen=True)
class ToolProgress(Event):
    tool: str
    tool_use_id: str
    stage: Optional[str]
    message: Optional[str]
    progress: Any


@dataclass(frozen=True)
class ToolComplete(Event):
    tool: str
    tool_use_id: str
    index: int
    ok: bool
    outcome: str


@dataclass(frozen=True)
class Complete(Event):
    payload: dict            # message, tool_history, usage, awaiting ...


@dataclass(frozen=True)
class Failed(Event):
    message: str
    code: str
    retryable: bool


@dataclass(frozen=True)
class Cancelled(Event):
    pass


@dataclass(frozen=True)
class StepReset(Event):
    message: str             # the run's text as it stands: put it in place of what you had


@dataclass(frozen=True)
class Restarting(Event):
    pass


@dataclass(frozen=True)
class Unknown(Event):
    """Of a newer server."""


KINDS = {"status": Status, "text_delta": TextDelta, "reasoning_delta": ReasoningDelta,
         "intent_confirmation": Intent, "tool_confirmation": ToolConfirmation, "tool_start": ToolStart,
         "tool_progress": ToolProgress, "tool_complete": ToolComplete, "complete": Complete,
         "error": Failed, "cancelled": Cancelled, "step_reset": StepReset, "restarting": Restarting}
LAST = (Complete, Failed, Cancelled)


def _event(raw: dict, place: Optional[str]) -> Event:
    kind = KINDS.get(raw.get("type"), Unknown)
    own = [f.name for f in fields(kind) if f.name not in ("raw", "id")]
    return kind(raw=raw, id=place, **{name: raw.get(name) for name in own})


def _json(text: bytes) -> Any:
    return json.loads(text, parse_float=Decimal)


class Run:
    """What was said and becomes of it; iterating tells its events up to where it ends or waits."""

    def __init__(self, client: "Parley", body: Optional[dict], thread: Optional[str], place: Optional[str]):
        self._client, self._body = client, body
        self.thread, self.place = thread, place      # place: the last that was told
        self.payload: dict = {}                      # of the last Complete

    @property
    def awaiting(self) -> list:
        """What it waits for: ids of requests, and of calls that a client has to run."""
        return self.payload.get("awaiting", [])

    @property
    def message(self) -> str:
        """Everything that the model said in this run."""
        return self.payload.get("message", "")

    def go_on(self) -> "Run":
        """The rest, after decisions, or from a place that was kept: client.resume(thread, place)."""
        return Run(self._client, None, self.thread, self.place)

    def _open(self):
        if self._body is not None and self.place is None:
            return self._client._send("POST", "/v1/chat/stream", self._body)
        return self._client._send("GET", f"/v1/threads/{self.thread}/events?after={self.place or '0.0'}")

    def _events(self) -> Iterator[Event]:
        """Of one connection, until it ends or breaks."""
        with self._open() as answer:
            self.thread = answer.headers.get("Parley-Thread", self.thread)
            place, data = None, []
            for line in answer:
                line = line.rstrip(b"\r\n")
                if line.startswith(b"id:"):
                    place = line[3:].strip().decode()
                elif line.startswith(b"data:"):
                    data.append(line[5:].lstrip(b" "))
                elif not line and data:
                    self.place = place or self.place
                    yield _event(_json(b"\n".join(data)), place)
                    place, data = None, []

    def __iter__(self) -> Iterator[Event]:
        tries = 0
        while tries < TRIES:
            events = self._events()
            while True:
                try:
                    event = next(events)
                except StopIteration:
                    break
                except Refused as why:
                    if why.status != 503 or not tries:
                        raise
                    break
                except (OSError, HTTPException):
                    break
                tries = 0
                if isinstance(event, Complete):
                    self.payload = event.payload
                yield event
                if isinstance(event, LAST):
                    events.close()
                    return
            time.sleep(min(PAUSE_S * 2 ** tries, PAUSE_MAX_S))
            tries += 1
        raise Lost("the server does not answer")


class Parley:
    """`key`: a bearer key or token. Refusals are raised as Refused."""

    def __init__(self, url: str = "http://127.0.0.1:8000", key: Optional[str] = None):
        self.url, self.key = url.rstrip("/"), key

    def _send(self, method: str, path: str, body: Any = None):
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        data = None if body is None else json.dumps(body, default=str).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            return urllib.request.urlopen(request, timeout=SILENT_S)
        except urllib.error.HTTPError as refusal:
            text = refusal.read()
            try:
                what = _json(text)
                error = what["error"]
            except (ValueError, KeyError, TypeError):
                what, error = text, {"code": "", "message": text.decode(errors="replace")}
            raise Refused(refusal.code, error["code"], error["message"], what) from None

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Any other door of docs/openapi.json: its answer."""
        with self._send(method, path, body) as answer:
            text = answer.read()
        return _json(text) if text else None

    def say(self, message: str, thread: Optional[str] = None, **more: Any) -> Run:
        """`more`: page, when_busy, request_id ... of the door. Without `thread` a new conversation."""
        body = {"message": message, "request_id": str(uuid.uuid4()), **more}
        if thread:
            body["thread_id"] = thread
        return Run(self, body, thread, None)

    def resume(self, thread: str, place: str = "0.0") -> Run:
        """Follows a conversation from a place on; "0.0" is its beginning."""
        return Run(self, None, thread, place)

    def decide(self, request: str, confirmed: bool, **more: Any) -> dict:
        """`more`: reason, payload, grant, input. {"status", "duplicate", ...}; status "pending": a vote."""
        if confirmed is not True and confirmed is not False:
            raise TypeError("confirmed must be True or False")
        return self.ask("POST", f"/v1/approvals/{urllib.parse.quote(request, safe='')}", {"confirmed": confirmed, **more})

    def approvals(self, **query: Any) -> Iterator[dict]:
        """All of them, newest first: status="pending", thread=..."""
        while True:
            page = self.ask("GET", "/v1/approvals?" + urllib.parse.urlencode(query))
            yield from page["approvals"]
            if page["next"] is None:
                return
            query["before"] = page["next"]

    def usage(self) -> dict:
        """What one has used today: tokens, cost_micro, budgets."""
        return self.ask("GET", "/v1/usage")

    def stop(self, thread: str) -> bool:
        return self.ask("POST", f"/v1/threads/{thread}/stop", {})["stopped"]
