import Foundation
import LarderTestSupport
import Testing

/// A page of icons that loads without a network: in a network namespace without routes, through a
/// server in the same namespace.
@Suite(.enabled(if: isOfflinePossible, "needs root, unshare, ip and curl"))
struct ServeOfflineTests {
    @Test func aPageOfIconsLoadsOffline() async throws {
        try await withFixture { larder in
            let icons = try MirroredPage(larder)
            let count = icons.urls.count
            try await offline(
                larder, icons,
                """
                mkdir page
                curl --silent --fail --proxy "$proxy" --output "page/#1" \
                    "http://icons.invalid/[0-\(count - 1)].svg?size=64"
                # Other URLs are not available.
                code=$(curl --silent --proxy "$proxy" --output /dev/null \
                    --write-out '%{http_code}' "http://icons.invalid/none")
                test "$code" = 404
                """)
            for number in 0..<count {
                let path = larder.directory.path("page/\(number)")
                let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
                #expect(Array(bytes) == Icons.icon(number))
            }
        }
    }

    @Test(.enabled(if: Browser.missing == nil, "\(Browser.missing ?? "")"))
    func aPageLoadsOfflineInABrowser() async throws {
        let chromium = try #require(Browser.chromium)
        try await withFixture { larder in
            let icons = try MirroredPage(larder)
            let images = icons.urls.map { #"<img src="\#($0)">"# }.joined()
            let count = """
                document.title = [...document.images].filter((image) => image.naturalWidth > 0).length
                """
            _ = try larder.write(
                """
                <!DOCTYPE html><title>Icons</title>\(images)
                <script>onload = () => { \(count) }</script>
                """.utf8, to: "page.html")
            try await offline(
                larder, icons,
                """
                HOME=$PWD "\(chromium)" --headless=new --no-sandbox --disable-gpu \
                    --disable-dev-shm-usage --no-first-run --disable-background-networking \
                    --proxy-server="${proxy%/}" --user-data-dir="$PWD/profile" \
                    --dump-dom "file://$PWD/page.html" > dom 2> browser.log
                """)
            let dom = try String(contentsOfFile: larder.directory.path("dom"), encoding: .utf8)
            #expect(dom.contains("<title>\(icons.urls.count)</title>"), "\(dom.prefix(100))")
        }
    }

    /// Runs a script in the fixture's directory with a mirror at `$proxy`. Expects that the script
    /// succeeds and sends no request to the origin.
    private func offline(_ larder: CLIFixture, _ icons: MirroredPage, _ body: String) async throws {
        let script = try larder.write(
            """
            set -eu
            cd "$3"
            ip link set lo up
            # Without another interface, a browser does not even use its proxy.
            ip link add end0 type veth peer name end1
            # An address assigned later would be a network change, which ends the browser's
            # requests.
            ip link set end0 addrgenmode none
            ip link set end1 addrgenmode none
            ip addr add 192.0.2.1/32 dev end0
            ip link set end0 up
            ip link set end1 up
            test -z "$(ip route show)"
            "$1" serve --mirror --cache "$2" --listen 127.0.0.1:0 --quiet > url &
            server=$!
            while ! [ -s url ]; do sleep 0.05; done
            proxy=$(cat url)
            \(body)
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
        #expect(larder.origin.count() == icons.requests)
    }
}

private let isOfflinePossible =
    geteuid() == 0
    && ["unshare", "ip", "curl"].allSatisfy { name in
        ["/usr/bin", "/bin", "/usr/sbin", "/sbin"].contains {
            access("\($0)/\(name)", X_OK) == 0
        }
    }
