"""A Kubernetes API server as far as pods go: it records what it is asked, and plays lists and watches."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
from urllib.parse import parse_qsl, urlsplit

from lab import Exchange, Worker
from wire import Certificates, TlsWorker


def pod(name: str, port: int | None = None, *, ip: str = "127.0.0.1", ready: bool = True, phase: str = "Running",
        namespace: str = "default", labels: dict | None = None, annotations: dict | None = None, **meta) -> dict:
    """As the API shows it, with what discovery looks at and something around it. `port` goes to the annotation."""
    notes = dict(annotations or {})
    if port:
        notes["smg.ai/worker-ports"] = str(port)
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "annotations": notes,
                     "labels": {"app": "vllm"} if labels is None else labels,
                     "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {"f:podIP": {}}}}], **meta},
        "spec": {"nodeName": "n1", "containers": [{"name": "engine", "image": "vllm"}]},
        "status": {"phase": phase, "podIP": ip, "podIPs": [{"ip": ip}],
                   "conditions": [{"type": "Initialized", "status": "True"},
                                  {"type": "Ready", "status": "True" if ready else "False"}]},
    }


def refusal(code: int, message: str = "too old resource version") -> dict:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": code}


def event(kind: str, subject: dict) -> bytes:
    return json.dumps({"type": kind, "object": subject}).encode() + b"\n"


def _selects(selector: str, labels: dict) -> bool:
    return all(labels.get(key) == value
               for key, _, value in (term.partition("=") for term in selector.split(",") if term))


class _Pods:
    """The part of an API server that is the same in the clear and over TLS. `asked` holds (path, query, token)."""

    def prepare(self) -> None:
        self.version = 100
        self.pods: dict[str, dict] = {}
        self.history: list[tuple[int, dict | None, dict | None]] = []  # version, pod before, pod after
        self.oldest = 0  # a watch from before this version is 410
        self.tokens: set[str] | None = None  # the good ones; None: all
        self.asked: list[tuple[str, dict[str, str], str | None]] = []
        self.refuse_watches: list[int] = []  # statuses of the next watches
        self.refuse_lists: list[int] = []
        self.page_limit = 1000  # pods of a page, whatever the client's limit
        self.watches: list[Exchange] = []
        self._news = asyncio.Event()

    # What happens in the cluster -------------------------------------------

    def apply(self, manifest: dict) -> None:
        name = manifest["metadata"]["name"]
        before = self.pods.get(name)
        self.pods[name] = manifest
        self._note(before, manifest)

    def delete(self, name: str) -> None:
        self._note(self.pods.pop(name), None)

    def forget(self) -> None:
        """No watch can begin before the present version any more."""
        self.history.clear()
        self.oldest = self.version

    def _note(self, before: dict | None, after: dict | None) -> None:
        self.version += 1
        (after or before)["metadata"]["resourceVersion"] = str(self.version)
        self.history.append((self.version, copy.deepcopy(before), copy.deepcopy(after)))
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def bookmark(self) -> str:
        """Tell the watches of a version in which no pod has changed."""
        self.version += 1
        meta = {"resourceVersion": str(self.version)}
        await self.send_to_watches(event("BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": meta}))
        return str(self.version)

    async def cut_watches(self) -> None:
        for watch in list(self.watches):
            await watch.abort()

    async def send_to_watches(self, data: bytes) -> None:
        for watch in list(self.watches):
            await watch.write(data)

    # What the gateway sees ---------------------------------------------------

    def lists(self) -> list[dict[str, str]]:
        return [query for _, query, _ in self.asked if "watch" not in query]

    def watched(self) -> list[dict[str, str]]:
        return [query for _, query, _ in self.asked if "watch" in query]

    async def _dispatch(self, ex: Exchange) -> None:
        target = urlsplit(ex.seen.target)
        query = dict(parse_qsl(target.query, keep_blank_values=True))
        token = (ex.seen.header("authorization") or "").removeprefix("Bearer ") or None
        self.asked.append((target.path, query, token))
        await ex.read_body()
        parts = target.path.strip("/").split("/")
        namespace = parts[3] if len(parts) == 5 and parts[2] == "namespaces" else None
        if parts[:2] != ["api", "v1"] or parts[-1] != "pods":
            return await ex.reply_json({"kind": "Status", "code": 404}, 404)
        if self.tokens is not None and token not in self.tokens:
            return await ex.reply_json({"kind": "Status", "code": 401}, 401)

        def wanted(manifest: dict) -> bool:
            meta = manifest["metadata"]
            return (_selects(query.get("labelSelector", ""), meta.get("labels", {}))
                    and namespace in (None, meta["namespace"]))
        if query.get("watch") in ("1", "true"):
            await self._watch(ex, query, wanted)
        else:
            await self._list(ex, query, wanted)

    async def _list(self, ex: Exchange, query: dict, wanted) -> None:
        if self.refuse_lists:
            status = self.refuse_lists.pop(0)
            return await ex.reply_json(refusal(status), status)
        items = [manifest for manifest in self.pods.values() if wanted(manifest)]
        start = int(query.get("continue") or 0)
        end = start + min(int(query.get("limit") or self.page_limit), self.page_limit)
        meta = {"resourceVersion": str(self.version)}
        if end < len(items):
            meta["continue"] = str(end)
        await ex.reply_json({"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": items[start:end]})

    async def _watch(self, ex: Exchange, query: dict, wanted) -> None:
        if self.refuse_watches:
            status = self.refuse_watches.pop(0)
            return await ex.reply_json(refusal(status), status)
        seen = int(query["resourceVersion"])
        await ex.start(200, [("Content-Type", "application/json")])
        if seen < self.oldest:
            await ex.write(event("ERROR", refusal(410)))
            return await ex.end()
        self.watches.append(ex)
        try:
            await self._play(ex, seen, wanted)
        finally:
            self.watches.remove(ex)

    async def _play(self, ex: Exchange, seen: int, wanted) -> None:
        leaving = asyncio.ensure_future(ex.gone())
        try:
            while not leaving.done():
                news = self._news
                for version, before, after in [entry for entry in self.history if entry[0] > seen]:
                    seen = version
                    was, is_now = (bool(manifest) and wanted(manifest) for manifest in (before, after))
                    if is_now:
                        await ex.write(event("MODIFIED" if was else "ADDED", after))
                    elif was:
                        before["metadata"]["resourceVersion"] = str(version)
                        await ex.write(event("DELETED", before))
                waiting = asyncio.ensure_future(news.wait())
                await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
        finally:
            leaving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await leaving


class ApiServer(_Pods, Worker):
    """In the clear, on loopback."""

    def __init__(self) -> None:
        super().__init__()
        self.prepare()


class TlsApiServer(_Pods, TlsWorker):
    def __init__(self, certificates: Certificates) -> None:
        super().__init__(certificates)
        self.prepare()
