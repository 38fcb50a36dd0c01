/* SPDX-License-Identifier: BSD-2-Clause */
/* node echo.js server|client ADDRESS PORT */
const dgram = require('dgram');
const [how, addr, port] = process.argv.slice(2);
const type = addr.includes(':') ? 'udp6' : 'udp4';
const s = dgram.createSocket(type);

if (how === 'server') {
	s.on('message', (data, from) => s.send(data, from.port, from.address));
	s.bind(Number(port), addr);
	setInterval(() => {}, 5);
} else {
	let n = 0;
	const timer = setTimeout(() => { console.log('no answer'); process.exit(1); }, 20000);
	const ask = () => s.send(`question ${n}`, Number(port), addr);
	s.on('message', (data) => {
		if (String(data) !== `question ${n}`) {
			console.log('wrong', String(data));
			process.exit(1);
		}
		if (++n < 500)
			return ask();
		console.log(n, 'answers');
		clearTimeout(timer);
		s.close();
	});
	ask();
}
