// port.cjs -- loaded before a server that cannot say which port it was given: says it on a line of its own.
const { Server } = require("node:net");

const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
    this.once("listening", () => console.log(this.address().port));
    return listen.apply(this, args);
};
