// SPDX-License-Identifier: BSD-2-Clause
// TcpEcho server|nio ADDR PORT: an echo by a thread for each connection, or by one with a Selector.
// TcpEcho client ADDR PORT: asks it, by streams and by channels, and prints what came back.
import java.io.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.*;
import java.util.*;
import java.util.concurrent.*;

public class TcpEcho {
	static void server(InetSocketAddress at) throws Exception {
		ServerSocket l = new ServerSocket();
		l.bind(at, 100);
		while (true) {
			Socket s = l.accept();
			new Thread(() -> {
				try (s) {
					s.getInputStream().transferTo(s.getOutputStream());
					s.shutdownOutput();
				} catch (IOException e) {
					System.err.println(e);
				}
			}).start();
		}
	}

	static void nio(InetSocketAddress at) throws Exception {
		Selector sel = Selector.open();
		ServerSocketChannel l = ServerSocketChannel.open();
		l.bind(at, 100).configureBlocking(false);
		l.register(sel, SelectionKey.OP_ACCEPT);
		while (true) {
			sel.select();
			for (Iterator<SelectionKey> i = sel.selectedKeys().iterator(); i.hasNext(); i.remove()) {
				SelectionKey k = i.next();
				if (k.isAcceptable()) {
					SocketChannel c = l.accept();
					c.configureBlocking(false);
					c.register(sel, SelectionKey.OP_READ, ByteBuffer.allocateDirect(65536));
				} else {
					echo(k);
				}
			}
		}
	}

	static void echo(SelectionKey k) throws IOException {
		SocketChannel c = (SocketChannel) k.channel();
		ByteBuffer b = (ByteBuffer) k.attachment();
		boolean end = k.isReadable() && b.hasRemaining() && c.read(b) < 0;
		b.flip();
		c.write(b);
		b.compact();
		if (end && b.position() == 0)
			c.close();
		else
			k.interestOps(b.position() > 0 ? SelectionKey.OP_WRITE : SelectionKey.OP_READ);
	}

	static String talk(InetSocketAddress to, int size) throws Exception {
		byte[] data = new byte[size];
		new Random(size).nextBytes(data);
		try (Socket s = new Socket()) {
			s.connect(to, 10000);
			s.setSoTimeout(20000);
			Thread t = new Thread(() -> {
				try {
					s.getOutputStream().write(data);
					s.shutdownOutput();
				} catch (IOException e) {
					System.err.println(e);
				}
			});
			t.start();
			byte[] got = s.getInputStream().readAllBytes();
			t.join();
			return size + " " + Arrays.equals(got, data);
		}
	}

	static void channel(InetSocketAddress to) throws Exception {
		SocketChannel c = SocketChannel.open(to);
		c.setOption(StandardSocketOptions.TCP_NODELAY, true);
		ByteBuffer b = ByteBuffer.allocateDirect(100);
		int rounds = 0;
		for (; rounds < 500; rounds++) {
			b.clear().limit(100);
			while (b.hasRemaining())
				c.write(b);
			b.clear().limit(100);
			while (b.hasRemaining() && c.read(b) >= 0)
				;
		}
		System.out.println(rounds + " rounds");
		c.close();
	}

	static void client(InetSocketAddress to) throws Exception {
		for (int size : new int[] {0, 1, 1000, 100000, 3000000})
			System.out.println(talk(to, size));
		ExecutorService pool = Executors.newFixedThreadPool(10);
		List<Future<String>> all = new ArrayList<>();
		for (int i = 0; i < 30; i++)
			all.add(pool.submit(() -> talk(to, 30000)));
		for (Future<String> f : all)
			System.out.print(f.get() + " ");
		System.out.println();
		pool.shutdown();
		channel(to);
		try (Socket s = new Socket()) {
			s.connect(to, 10000);
			s.setSoTimeout(100);
			s.getInputStream().read();
		} catch (SocketTimeoutException e) {
			System.out.println("timed out");
		}
		try (Socket s = new Socket()) {
			s.connect(new InetSocketAddress(to.getAddress(), to.getPort() + 7), 10000);
		} catch (ConnectException e) {
			System.out.println("refused");
		}
	}

	public static void main(String[] args) throws Exception {
		InetSocketAddress at = new InetSocketAddress(args[1], Integer.parseInt(args[2]));
		switch (args[0]) {
		case "server" -> server(at);
		case "nio" -> nio(at);
		default -> client(at);
		}
	}
}
