import Foundation
import LarderTestSupport
import Testing

/// A page full of icons where there is no network: in a network namespace without a route.
@Suite struct ServeOfflineTests {
    private static var canUnshare: Bool {
        geteuid() == 0
            && ["unshare", "ip", "curl"].allSatisfy { name in
                ["/usr/bin", "/bin", "/usr/sbin", "/sbin"].contains {
                    access("\($0)/\(name)", X_OK) == 0
                }
            }
    }

    @Test(.enabled(if: canUnshare, "needs root, unshare, ip and curl"))
    func aPageOfIcons() async throws {
        try await withFixture { larder in
            let icons = try MirroredPage(larder)
            let count = icons.urls.count
            let script = try larder.write(
                """
                set -eu
                PATH=$PATH:/usr/sbin:/sbin
                ip link set lo up
                test -z "$(ip route show)"
                "$1" serve --mirror --cache "$2" --listen 127.0.0.1:0 --quiet > "$3/url" &
                server=$!
                while ! [ -s "$3/url" ]; do sleep 0.05; done
                mkdir "$3/page"
                curl --silent --fail --proxy "$(cat "$3/url")" --output "$3/page/#1" \
                    "http://icons.invalid/[0-\(count - 1)].svg?size=64"
                # And nothing else is to be had.
                code=$(curl --silent --proxy "$(cat "$3/url")" --output /dev/null \
                    --write-out '%{http_code}' "http://icons.invalid/none")
                test "$code" = 404
                kill "$server"
                wait "$server"
                """.utf8, to: "page.sh")
            let arguments = [
                "unshare", "--net", "sh", script, larder.binary.path, larder.cache,
                larder.directory.path,
            ]
            let finished = try await onThreadOfItsOwn {
                try RunningProcess("/usr/bin/env", arguments).wait()
            }
            try #require(finished.status == 0, "\(finished)")
            for number in 0..<count {
                let path = larder.directory.path("page/\(number)")
                let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
                #expect(Array(bytes) == Icons.icon(number))
            }
            #expect(larder.origin.count() == icons.asked)
        }
    }
}
