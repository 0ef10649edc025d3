export class McpServers { constructor(world) { this.world = world; } config() { return {}; } take(q, r) { r.writeHead(404).end(); } }
