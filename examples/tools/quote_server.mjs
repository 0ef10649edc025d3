// An HTTP endpoint as a tool: PORT=8999 node quote_server.mjs
// It answers with events, so that progress is seen, and keeps its promise never
// to book twice: the same Idempotency-Key gets the first answer again.
import { createServer } from "node:http";

const booked = new Map();

createServer(async (req, res) => {
    let body = "";
    for await (const chunk of req) body += chunk;
    const key = req.headers["idempotency-key"];
    const { item, quantity = 1 } = JSON.parse(body || "{}");
    if (!item) {
        res.writeHead(422, { "Content-Type": "application/json" });
        return res.end(JSON.stringify({ error: "What should be quoted?" }));
    }
    res.writeHead(200, { "Content-Type": "text/event-stream" });
    const say = (event) => res.write(`data: ${JSON.stringify(event)}\n\n`);
    say({ progress: 0.5, message: `looking up ${item}` });
    if (!booked.has(key)) booked.set(key, { quote: booked.size + 1, item, quantity, total: quantity * item.length });
    say({ result: booked.get(key) });
    res.end();
}).listen(Number(process.env.PORT ?? 8999), "127.0.0.1", function () {
    console.log(`listening on ${this.address().port}`);
});
