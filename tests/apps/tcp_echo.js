// SPDX-License-Identifier: BSD-2-Clause
// tcp_echo.js server ADDR PORT | client ADDR PORT: an echo over TCP and over HTTP (PORT + 1); the client
// prints what came back.
const net = require("net");
const http = require("http");
const crypto = require("crypto");
const [what, addr, port] = [process.argv[2], process.argv[3], +process.argv[4]];
const sum = (b) => crypto.createHash("md5").update(b).digest("hex");

function server() {
  net.createServer({ allowHalfOpen: true }, (s) => s.pipe(s)).listen(port, addr);
  http.createServer((req, res) => {
    const parts = [];
    req.on("data", (d) => parts.push(d));
    req.on("end", () => res.end(Buffer.concat(parts)));
  }).listen(port + 1, addr);
}

function talk(size) {
  return new Promise((done) => {
    const data = Buffer.alloc(size, "some words of text ");
    const parts = [];
    const s = net.connect(port, addr, () => s.end(data));
    s.on("data", (d) => parts.push(d));
    s.on("error", (e) => done(e.code));
    s.on("close", () => done(`${size} ${sum(Buffer.concat(parts)) === sum(data)}`));
  });
}

function rounds(n) {
  return new Promise((done) => {
    const s = net.connect({ port, host: addr, noDelay: true }, () => s.write("0"));
    let seen = 0;
    s.on("data", () => (++seen < n ? s.write(String(seen)) : s.end()));
    s.on("close", () => done(`${seen} rounds`));
  });
}

function post(size, agent) {
  return new Promise((done) => {
    const data = Buffer.alloc(size, "x");
    const req = http.request({ host: addr, port: port + 1, method: "POST", agent }, (res) => {
      let n = 0;
      res.on("data", (d) => (n += d.length));
      res.on("end", () => done(`${res.statusCode} ${n}`));
    });
    req.on("error", (e) => done(e.code));
    req.end(data);
  });
}

async function client() {
  for (const size of [0, 1, 1000, 100000, 5000000]) console.log(await talk(size));
  console.log((await Promise.all(Array(30).fill(20000).map(talk))).join(", "));
  console.log(await rounds(500));
  const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
  console.log((await Promise.all(Array(20).fill(50000).map((n) => post(n, agent)))).join(", "));
  console.log(await post(3000000, undefined));
  agent.destroy();
  const refused = net.connect(port + 7, addr);
  refused.on("error", (e) => console.log(e.code));
}

(what === "server" ? server : client)();
