import Foundation

/// A headless Chromium, driven through WebDriver (W3C Recommendation, June 2018).
public final class Browser: Sendable {
    private let process: ServerProcess
    private let session: String

    /// Why it cannot be started; nil if it can.
    public static var missing: String? {
        ServerProcess.program("chromedriver") == nil || chromium == nil
            ? "Chromium is not installed (Scripts/setup --servers)" : nil
    }

    /// Where Chromium is, if it is installed.
    public static var chromium: String? { ServerProcess.program("chromium") }

    /// The script of axe-core, which looks for what keeps people from using a page; nil if it is
    /// not installed.
    public static var axe: String? {
        try? String(
            contentsOfFile: ServerProcess.servers + "/axe_playwright_python/axe.min.js",
            encoding: .utf8)
    }

    /// Starts one and opens a window; a moment.
    ///
    /// - Parameters:
    ///   - width: of the window, in pixels. Default: 1280.
    ///   - height: the same. Default: 900.
    public init(width: Int = 1280, height: Int = 900) async throws {
        guard let driver = ServerProcess.program("chromedriver"),
            let chromium = Self.chromium
        else { throw ServerFailure(name: "chromium", message: Self.missing ?? "") }
        process = try await onThreadOfItsOwn { try ServerProcess("browser.sh", [driver]) }
        var arguments = [
            "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--hide-scrollbars", "--window-size=\(width),\(height)",
            "--disable-background-networking",
        ]
        // Its sandbox refuses to be root's.
        if geteuid() == 0 { arguments.append("--no-sandbox") }
        let capabilities: [String: Any] = [
            "browserName": "chrome",
            "goog:loggingPrefs": ["browser": "ALL", "performance": "ALL"],
            "goog:chromeOptions": ["binary": chromium, "args": arguments] as [String: Any],
            "timeouts": ["script": 300_000, "pageLoad": 300_000],
        ]
        let started = try await Self.ask(
            process.port, "POST", "/session", ["capabilities": ["alwaysMatch": capabilities]])
        guard let started = started as? [String: Any], let session = started["sessionId"] as? String
        else { throw ServerFailure(name: "chromium", message: "no session: \(started ?? "")") }
        self.session = session
    }

    /// Ends it and removes its files.
    public func stop() { process.stop() }

    /// Loads a page, and returns when all that it has from the beginning is there.
    public func open(_ url: String) async throws {
        _ = try await ask("POST", "/url", ["url": url])
    }

    /// Runs the body of a function, which may `return` what JSON can say, or a promise of it.
    ///
    /// - Returns: nil for null and undefined.
    @discardableResult
    public func run<Value: Decodable>(_ script: String, as _: Value.Type) async throws -> Value {
        let value = try await ask("POST", "/execute/sync", ["script": script, "args": [String]()])
        let data = try JSONSerialization.data(
            withJSONObject: value ?? NSNull(), options: .fragmentsAllowed)
        return try JSONDecoder().decode(Value.self, from: data)
    }

    /// The same, for nothing.
    public func run(_ script: String) async throws {
        _ = try await ask("POST", "/execute/sync", ["script": script, "args": [String]()])
    }

    /// Returns when an expression is true, looked at again with each frame.
    public func wait(until expression: String) async throws {
        try await run(
            """
            return new Promise((resolve) => {
              const look = () => (\(expression)) ? resolve() : requestAnimationFrame(look);
              look();
            });
            """)
    }

    /// Presses keys one after the other, wherever the focus is. See ``Key``.
    public func press(_ keys: String) async throws {
        let actions = keys.unicodeScalars.flatMap { key in
            ["keyDown", "keyUp"].map { ["type": $0, "value": String(key)] }
        }
        _ = try await ask(
            "POST", "/actions",
            ["actions": [["type": "key", "id": "keyboard", "actions": actions] as [String: Any]]])
    }

    /// What WebDriver calls keys that are no characters.
    public enum Key {
        /// Enter.
        public static let enter = "\u{E007}"
        /// Tabulator.
        public static let tab = "\u{E004}"
        /// Escape.
        public static let escape = "\u{E00C}"
        /// Page down.
        public static let pageDown = "\u{E00F}"
        /// End.
        public static let end = "\u{E010}"
        /// Home.
        public static let home = "\u{E011}"
        /// Arrow to the left.
        public static let left = "\u{E012}"
        /// Arrow to the right.
        public static let right = "\u{E014}"
        /// Arrow down.
        public static let down = "\u{E015}"
    }

    /// Has the page see what its reader prefers.
    public func prefer(dark: Bool) async throws {
        let feature = ["name": "prefers-color-scheme", "value": dark ? "dark" : "light"]
        _ = try await ask(
            "POST", "/goog/cdp/execute",
            [
                "cmd": "Emulation.setEmulatedMedia",
                "params": ["features": [feature]] as [String: Any],
            ])
    }

    /// What the window shows, as PNG.
    public func screenshot() async throws -> Data {
        let text = try await ask("GET", "/screenshot", nil) as? String
        return text.flatMap { Data(base64Encoded: $0) } ?? Data()
    }

    /// What the console has been told since the last look.
    public func consoleMessages() async throws -> [String] { try await log("browser") }

    /// The URLs that were asked for since the last look, `data:` and the browser's own aside.
    public func requestedURLs() async throws -> [String] {
        try await log("performance").compactMap { text in
            let message = try? JSONSerialization.jsonObject(with: Data(text.utf8))
            let event = (message as? [String: Any])?["message"] as? [String: Any]
            guard event?["method"] as? String == "Network.requestWillBeSent",
                let parameters = event?["params"] as? [String: Any],
                let request = parameters["request"] as? [String: Any],
                let url = request["url"] as? String
            else { return nil }
            return url.hasPrefix("data:") || url.hasPrefix("chrome:") ? nil : url
        }
    }

    private func log(_ type: String) async throws -> [String] {
        let entries = try await ask("POST", "/se/log", ["type": type]) as? [[String: Any]]
        return (entries ?? []).compactMap { $0["message"] as? String }
    }

    private func ask(
        _ method: String, _ path: String, _ body: [String: Any]?
    ) async throws -> Any? {
        try await Self.ask(process.port, method, "/session/\(session)\(path)", body)
    }

    private static func ask(
        _ port: UInt16, _ method: String, _ path: String, _ body: [String: Any]?
    ) async throws -> Any? {
        let sent = try body.map { try JSONSerialization.data(withJSONObject: $0) } ?? Data()
        let response = try await onThreadOfItsOwn {
            let client = try RawClient(port: port)
            let head = [
                "\(method) \(path) HTTP/1.1", "Host: localhost", "Content-Type: application/json",
                "Content-Length: \(sent.count)", "\r\n",
            ]
            client.send(Array(head.joined(separator: "\r\n").utf8) + sent)
            return try client.readResponse()
        }
        let answer = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        guard response.status == 200 else {
            let said = answer?["value"] as? [String: Any]
            throw ServerFailure(
                name: "chromium", message: "\(path): \(said?["message"] ?? "no message")")
        }
        return answer?["value"]
    }
}
