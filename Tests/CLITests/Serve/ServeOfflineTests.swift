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
                curl --silent --fail --proxy "$url" --output "page/#1" \
                    "http://icons.invalid/[0-\(count - 1)].svg?size=64"
                # Other URLs are not available.
                code=$(curl --silent --proxy "$url" --output /dev/null \
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
            let dom = try await dom(
                of: "page.html", larder, icons, chromium, #"--proxy-server="${url%/}""#)
            #expect(dom.contains("<title>\(icons.urls.count)</title>"), "\(dom.prefix(100))")
        }
    }

    @Test(
        .enabled(if: Browser.missing == nil, "\(Browser.missing ?? "")"),
        arguments: ["--icons icons", #"--server "${url%/}""#, "--data"])
    func aLocalizedDashboardShowsItsIconsOffline(_ target: String) async throws {
        let chromium = try #require(Browser.chromium)
        try await withFixture { larder in
            let icons = try MirroredPage(larder)
            let items = (icons.urls + ["mdi:home"]).map { ["title": "App", "icon": $0] }
            let dashboard = ["sections": [["items": items]]]
            _ = try larder.write(
                JSONSerialization.data(withJSONObject: dashboard), to: "dashboard.json")
            _ = try larder.write(
                """
                <!DOCTYPE html><title>Dashboard</title><body><script>
                const request = new XMLHttpRequest();
                request.open("GET", "local.json", false);
                request.send();
                for (const section of JSON.parse(request.response).sections) {
                  for (const { icon } of section.items) {
                    if (icon === "mdi:home") continue;
                    const image = new Image();
                    image.src = icon;
                    document.body.append(image);
                  }
                }
                const local = ["file:", "data:", "http://127.0.0.1:"];
                onload = () => {
                  const shown = [...document.images].filter((image) => image.naturalWidth > 0);
                  const outside = performance.getEntriesByType("resource")
                    .filter(({ name }) => !local.some((start) => name.startsWith(start)));
                  document.title = `${shown.length} shown, ${outside.length} outside`;
                };
                </script>
                """.utf8, to: "page.html")
            let dom = try await dom(
                of: "page.html", larder, icons, chromium, "--allow-file-access-from-files",
                after: """
                    "$1" localize dashboard.json --entries "sections[*].items[*]" \
                        --icon-key icon --output local.json \(target) --strict --quiet --cache "$2"
                    """)
            let title = "<title>\(icons.urls.count) shown, 0 outside</title>"
            #expect(dom.contains(title), "\(dom.prefix(100))")
        }
    }

    /// Runs a script offline, then opens a page of the fixture's directory in Chromium. Returns the
    /// document after the page has loaded.
    private func dom(
        of page: String, _ larder: CLIFixture, _ icons: MirroredPage, _ chromium: String,
        _ option: String, after body: String = ""
    ) async throws -> String {
        try await offline(
            larder, icons,
            """
            \(body)
            HOME=$PWD "\(chromium)" --headless=new --no-sandbox --disable-gpu \
                --disable-dev-shm-usage --no-first-run --disable-background-networking \
                \(option) --user-data-dir="$PWD/profile" \
                --dump-dom "file://$PWD/\(page)" > dom 2> browser.log
            """)
        return try String(contentsOfFile: larder.directory.path("dom"), encoding: .utf8)
    }

    /// Runs a script in the fixture's directory with a server at `$url`. Expects that the script
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
            url=$(cat url)
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
