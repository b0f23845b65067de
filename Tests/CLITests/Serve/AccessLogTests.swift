import Foundation
import LarderTestSupport
import Testing

/// `larder serve --access-log`. A log that cannot be written does not affect responses.
@Suite struct AccessLogTests {
    @Test func aLogPipeThatIsNotReadDoesNotBlockTheServer() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let pipe = larder.directory.path("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            defer { close(reader) }
            let process = try RunningProcess(
                "/bin/sh",
                [
                    "-c", #"exec "$0" "$@" >"$PIPE""#, larder.binary.path, "serve", "--cache",
                    larder.cache, "--listen", "127.0.0.1:0", "--access-log", "-",
                ],
                environment: ProcessInfo.processInfo.environment.merging(["PIPE": pipe]) { $1 })
            let client = try RawClient(port: Self.port(reader))
            // More text than a pipe can hold.
            let target = "/" + String(repeating: "a", count: 8_000)
            for _ in 0..<40 { #expect(try client.get(target).status == 404) }
            process.kill(SIGTERM)
            let finished = try process.wait()
            #expect(finished.status == 0, "\(finished)")
            #expect(finished.standardError.contains("lost: the reader is too slow"))
        }
    }

    /// Reads a URL from the first line of a pipe, and returns its port.
    private static func port(_ reader: Int32) throws -> UInt16 {
        var text = ""
        while !text.hasSuffix("\n") {
            var ready = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
            try #require(poll(&ready, 1, 120_000) > 0)
            var byte: UInt8 = 0
            // Before the server opens the pipe, a read returns the end of the file.
            if read(reader, &byte, 1) == 1 { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        }
        return try #require(UInt16(text.dropLast(2).split(separator: ":").last ?? ""))
    }

    #if os(Linux)
        @Test func linesLostToAFullDiskAreReported() async throws {
            try await withFixture { larder in
                _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
                let serve = try ServeRun(larder, ["--access-log", "/dev/full"])
                #expect(try serve.client().get("/healthz").status == 200)
                let finished = try serve.stop()
                #expect(finished.status == 0)
                #expect(
                    finished.standardError.contains(
                        "--access-log: 1 line lost: No space left on device"), "\(finished)")
            }
        }
    #endif

    @Test func linesLostToAClosedPipeAreReported() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let pipe = larder.directory.path("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            let serve = try ServeRun(larder, ["--access-log", pipe])
            close(reader)
            #expect(try serve.client().get("/healthz").status == 200)
            let finished = try serve.stop()
            #expect(finished.status == 0)
            #expect(finished.standardError.contains("1 line lost: Broken pipe"), "\(finished)")
        }
    }

    @Test func aLogPipeWithoutAReaderIsRefused() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let pipe = larder.directory.path("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            let finished = try larder.run(
                "serve", "--listen", "127.0.0.1:0", "--access-log", pipe)
            #expect(finished.status == 1, "\(finished)")
            #expect(finished.standardError.contains("without a reader"), "\(finished)")
        }
    }

    /// It may not be a file of the cache, a manifest, or the output of another option.
    @Test func theAccessLogIsNotWrittenToOtherFiles() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            _ = try larder.prefetch(manifest)
            let text = try String(contentsOfFile: manifest, encoding: .utf8)
            let other = larder.directory.path("other.json")
            let index = larder.cache + "/index.sqlite"
            let link = larder.directory.path("link")
            #expect(symlink(index, link) == 0)
            // The targets of these links do not exist.
            let links = ["dangling", "again", "aside"].map { larder.directory.path($0) }
            #expect(symlink(larder.cache + "/objects/oops", links[0]) == 0)
            #expect(symlink("dangling", links[1]) == 0)
            #expect(symlink("./other.json", links[2]) == 0)
            for options in [
                ["--access-log", index], ["--access-log", link],
                ["--access-log", larder.cache + "/new"],
                ["--access-log", links[0]], ["--access-log", links[1]],
                ["--access-log", links[2], "--missing-list", other],
                ["--access-log", manifest, "--manifest", manifest],
                ["--access-log", other, "--missing-list", other],
                ["--access-log", larder.cache + "/../other.json", "--missing-list", other],
            ] {
                let finished = try larder.run(
                    arguments: ["serve", "--listen", "127.0.0.1:0"] + options)
                #expect(finished.status == 64, "\(finished)")
                #expect(finished.standardError.contains("--access-log"), "\(finished)")
            }
            #expect(try String(contentsOfFile: manifest, encoding: .utf8) == text)
            #expect(!FileManager.default.fileExists(atPath: other))
            #expect(!FileManager.default.fileExists(atPath: larder.cache + "/new"))
            #expect(!FileManager.default.fileExists(atPath: larder.cache + "/objects/oops"))
            #expect(try larder.verify() == 0)
        }
    }

    /// In any spelling, for any route, and in malformed targets.
    @Test func secretsInTargetsAreNotLogged() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let log = larder.directory.path("access.jsonl")
            let serve = try ServeRun(larder, ["--access-log", log, "--mirror"])
            let client = try serve.client()
            let url = "https%3A%2F%2Fa.example%2F%3Fa=1%26token%3Dsecret"
            let own = "127.0.0.1:\(serve.port)"
            let targets = [
                "http://\(own)/icon?url=\(url)", "HTTP://\(own)/icon?url=\(url)",
                "/icon?url=\(url)%FF", "/icon?url=\(url)%zz", "/icon?a=b&u%72l=\(url)",
                "/icon?\(url)", "/icon?url=https%3A%2F%2Fuser:secret%40a.example%2F",
                "/icon?url=x%26token%3Dsecret",
                "http://b.example/resize?from=\(url)", "http://user:secret@b.example/1.png",
            ]
            for target in targets { _ = try client.get(target) }
            try serve.stop()
            let text = try String(contentsOfFile: log, encoding: .utf8)
            let lines = try JSONValue.lines(Data(text.utf8))
            #expect(lines.count == targets.count)
            #expect(!text.contains("secret"), "\(text)")
            let masked = "url=https://a.example/?a=1&token=***"
            #expect(lines[0]["target"] == .string("http://\(own)/icon?\(masked)"))
            #expect(lines[2]["target"] == .string("/icon?url=***"))
            #expect(lines[9]["target"] == .string("http://***@b.example/1.png"))
        }
    }

    /// In URLs within URLs, in fragments, and in text that is not a URL.
    @Test func nestedSecretsInTargetsAreNotLogged() async throws {
        let targets: [(target: String, shown: String?)] = [
            ("/icon?url=//u:S3CRET@h/", "/icon?url=//***@h/"),
            ("/a?x=Bearer%20S3CRET&w=1", "/a?x=***&w=1"), ("/a?w=1&Basic+S3CRET", "/a?w=1&***"),
            ("/a?u=http%3A%2F%2Fh%2F%3FeyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.S3CRET", nil),
            ("/icon?url=%2F%2Fu:S3CRET@h/", nil),
            ("/icon?url=%2F%2Fu%3AS3CRET%40h%2F", "/icon?url=//***@h/"),
            ("/icon?http://u:S3CRET@h/a", "/icon?http://***@h/a"),
            ("/icon?url=http:/S3CRET@h/", nil), ("/icon?url=http:%5C%5CS3CRET@h/", nil),
            ("/icon?url=http%3A%2F%2Fu%3AS3C%2526RET%40h%2F", nil),
            ("//user:S3CRET@host/x", "//***@host/x"),
            ("/http://u:S3CRET@h/a", "/http://***@h/a"),
            ("/u:S3CRET@h", "/***@h"), ("HTTP://S3CRET@h/", "HTTP://***@h/"),
            (
                "/icon?url=http%3A%2F%2Fh%2Fa%3Furl%3Dhttp%253A%252F%252Fh%252F%253Ftoken%253D"
                    + "S3CRET", "/icon?url=http://h/a?url=http://h/?token=***"
            ),
            (
                "/icon?url=http%3A%2F%2Fh%2F%23access_token%3DS3CRET",
                "/icon?url=http://h/#access_token=***"
            ),
            ("/icon#token=S3CRET", "/icon#token=***"),
            ("http://h/a%3Ftoken=S3CRET", "http://h/a?token=***"),
            ("/icon?url=http%3A%2F%2Fh%2Fa%253Ftoken%253DS3CRET", "/icon?url=http://h/a?token=***"),
            ("/icon?a=1;token=S3CRET;S3CRET&b=2", "/icon?a=1;token=***&b=2"),
            ("/icon?token=%2526S3CRET&b=2", "/icon?token=***&b=2"),
            ("/icon?tok%256%35n=%26S3CRET&b=%32", nil),
            // Encoded four times, or not text.
            ("/icon?url=%252525253Ftoken%252525253DS3CRET", "/icon?url=***"),
            ("/icon?url=%0Atoken%3DS3CRET", "/icon?url=***"),
            ("/icon?a=%FFS3CRET&b=2", "/icon?a=***"),
            // Targets without secrets are not decoded.
            (
                "/icon?url=http%3A%2F%2Fh%2Fa%2520b.png&x=y",
                "/icon?url=http%3A%2F%2Fh%2Fa%2520b.png&x=y"
            ),
            ("/a@2x.png", "/a@2x.png"),
        ]
        try await withLog(targets.map { ("GET", $0.target) } + [("CONNECT", "u:S3CRET@h:80")]) {
            logged in
            for (logged, (target, shown)) in zip(logged, targets) {
                #expect(shown == nil || logged == shown, "\(target): \(logged)")
                #expect(!logged.contains("S3C"), "\(target): \(logged)")
            }
            #expect(logged.last == "***@h:80")
        }
    }

    /// At most a hundred parameters are examined.
    @Test func targetsThatAreTooLongAreMasked() async throws {
        let many = (1...100).map { "a=\($0)" }
        let some = "/icon?" + many.joined(separator: "&")
        let long = String(repeating: "a", count: 16 << 10)
        let targets = [
            some, "\(some)&token=secret", "/icon?" + String(repeating: "%26", count: 200),
            "/icon" + String(repeating: "%2526", count: 200), "/icon?token=secret&a=\(long)",
            "/\(long)",
        ]
        try await withLog(targets.map { ("GET", $0) }) { logged in
            #expect(logged == [some, "/icon?***", "/icon?***", "***", "/icon?***", "***"])
        }
    }

    /// Sends requests and passes the logged targets to `body`.
    private func withLog(
        _ requests: [(method: String, target: String)], _ body: ([String]) throws -> Void
    ) async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let log = larder.directory.path("access.jsonl")
            let serve = try ServeRun(larder, ["--access-log", log, "--mirror"])
            for (method, target) in requests {
                _ = try serve.client().get(target, method: method)
            }
            try serve.stop()
            let lines = try JSONValue.lines(Data(contentsOf: URL(fileURLWithPath: log)))
            let logged = lines.compactMap { line -> String? in
                guard case .string(let target) = line["target"] else { return nil }
                return target
            }
            #expect(logged.count == requests.count)
            try body(logged)
        }
    }
}
