#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# curl over HTTP and HTTPS from nginx: large files whole, slowly (--limit-rate), several at a time over several
# connections and over one (HTTP/2), uploads, ranges; and ab.
. "$(dirname "$0")/lib_tcp.sh"
need nginx curl openssl
net_up
mkdir "$TMP/www" "$TMP/up"
chmod 777 "$TMP/up"
for n in 1 100000 8000000; do head -c "$n" /dev/urandom >"$TMP/www/$n"; done
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$TMP/key" -out "$TMP/cert" -days 2 -subj /CN=host \
	-addext "subjectAltName=IP:$B4,IP:$B6" 2>/dev/null || skip "no certificate"
nginx_conf 0 <<END
	client_max_body_size 100m;
	server {
		listen $B4:8080; listen [$B6]:8080; listen $B4:8443 ssl http2; listen [$B6]:8443 ssl http2;
		ssl_certificate $TMP/cert; ssl_certificate_key $TMP/key;
		root $TMP/www;
		location /echo { client_body_buffer_size 16k; return 200 "\$content_length"; }
		location /via/ { proxy_pass http://$B4:8080/; proxy_http_version 1.1; proxy_buffering off; }
	}
END
words() { # address
	local c=(curl -s --max-time 30 --cacert "$TMP/cert") url n
	for url in "http://$1:8080" "https://$1:8443"; do
		for n in 1 100000 8000000; do "${c[@]}" "$url/$n" | cmp - "$TMP/www/$n" && echo "$n same"; done
		"${c[@]}" --limit-rate 200k "$url/100000" | cmp - "$TMP/www/100000" && echo slowly
		"${c[@]}" -r 500-99999 "$url/8000000" | md5sum
		"${c[@]}" -o /dev/null -o /dev/null -o /dev/null -w '%{http_code} %{num_connects} %{size_download}\n' \
			"$url/1" "$url/100000" "$url/none"
		"${c[@]}" -Z --parallel-max 8 -o /dev/null -w '%{http_code} %{size_download}\n' \
			"$url/100000?[1-30]" | sort | uniq -c
		# (nginx opens no HTTP/2 window for a body that it does not read; its proxy reads the body.)
		"${c[@]}" --data-binary "@$TMP/www/8000000" -w ' %{http_code}\n' "$url/via/echo"
	done
	"${c[@]}" --data-binary "@$TMP/www/8000000" -w ' %{http_code}\n' "http://$1:8080/echo"
	"${c[@]}" "http://$1:8080/via/8000000" | cmp - "$TMP/www/8000000" && echo by proxy
	"${c[@]}" --http1.1 "https://$1:8443/100000" | cmp - "$TMP/www/100000" && echo "without HTTP/2"
	"${c[@]}" "http://$1:9999/"
	echo "nobody there: $?"
}
export -f words
export TMP
for MODE in $MODES; do
	serve 8443 nginx -p "$TMP" -c "$TMP/nginx.conf" || continue
	differ https4 pa bash -c 'words "$@"' - "$B4"
	differ https6 pa bash -c 'words "$@"' - "[$B6]"
	if command -v ab >/dev/null; then
		pa timeout 30 ab -q -k -c 8 -n 2000 "http://$B4:8080/1" >"$(said ab)" 2>&1 || fail "ab's status is $?"
		same "ab: failed requests" "Failed requests:        0" "$(grep 'Failed requests' "$(said ab)")"
	fi
	serve_end
done
done_testing
