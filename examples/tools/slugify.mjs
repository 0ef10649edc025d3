// A tool in Node. stdin: {"title":"..."}
let input = "";
for await (const chunk of process.stdin) input += chunk;
const { title } = JSON.parse(input);

const say = (line) => console.log(JSON.stringify(line));
console.error(`call ${process.env.PARLEY_CALL_ID}`); // stderr is shown on the card, not to the model
say({ progress: 0.5, message: "making it short" });
const slug = title.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
say(slug ? { result: slug } : { error: "Nothing is left of that title." });
