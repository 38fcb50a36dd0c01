/* SPDX-License-Identifier: BSD-2-Clause */
/* UdpEcho server|nio ADDRESS PORT: an echo with DatagramSocket or with DatagramChannel and a Selector;
 * UdpEcho client ADDRESS PORT: asks it. */
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.*;

public class UdpEcho {
	static void server(InetSocketAddress at) throws Exception {
		DatagramSocket s = new DatagramSocket(at);
		byte[] data = new byte[65536];
		for (;;) {
			DatagramPacket p = new DatagramPacket(data, data.length);
			s.receive(p);
			s.send(new DatagramPacket(data, p.getLength(), p.getSocketAddress()));
		}
	}

	static void nio(InetSocketAddress at) throws Exception {
		DatagramChannel c = DatagramChannel.open();
		Selector sel = Selector.open();
		ByteBuffer data = ByteBuffer.allocateDirect(65536);
		c.bind(at).configureBlocking(false);
		c.register(sel, SelectionKey.OP_READ);
		for (;;) {
			sel.select();
			sel.selectedKeys().clear();
			SocketAddress from;
			data.clear();
			while ((from = c.receive(data)) != null) {
				data.flip();
				c.send(data, from);
				data.clear();
			}
		}
	}

	static void client(InetSocketAddress to) throws Exception {
		DatagramSocket s = new DatagramSocket();
		int good = 0;
		s.setSoTimeout(10000);
		s.connect(to);
		for (int i = 0; i < 500; i++) {
			byte[] q = ("question " + i).getBytes(), a = new byte[1000];
			DatagramPacket p = new DatagramPacket(a, a.length);
			s.send(new DatagramPacket(q, q.length));
			s.receive(p);
			if (new String(a, 0, p.getLength()).equals("question " + i))
				good++;
		}
		System.out.println(good + " answers");
		s.setSoTimeout(200);
		try {
			s.receive(new DatagramPacket(new byte[10], 10));
			System.out.println("one too many");
		} catch (SocketTimeoutException e) {
			System.out.println("then none");
		}
	}

	public static void main(String[] a) throws Exception {
		InetSocketAddress at = new InetSocketAddress(a[1], Integer.parseInt(a[2]));
		if (a[0].equals("server"))
			server(at);
		else if (a[0].equals("nio"))
			nio(at);
		else
			client(at);
	}
}
