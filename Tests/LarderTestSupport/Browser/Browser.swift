import Foundation

/// A headless Chromium, controlled through WebDriver (W3C Recommendation, June 2018).
public final class Browser: Sendable {
    private let process: ServerProcess
    private let session: String

    /// The programs that are not installed; nil if all are.
    public static var missing: String? {
        let needed = [
            ("chromium", chromium), ("chromedriver", ServerProcess.program("chromedriver")),
            ("axe-core", axe),
        ]
        let missing = needed.filter { $0.1 == nil }.map(\.0)
        return missing.isEmpty
            ? nil : "Missing: \(missing.joined(separator: ", ")) (Scripts/setup --servers)"
    }

    /// The path of Chromium, if it is installed.
    public static var chromium: String? { ServerProcess.program("chromium") }

    /// The script of axe-core, which checks the accessibility of a page; nil if it is not
    /// installed.
    public static var axe: String? {
        try? String(
            contentsOfFile: ServerProcess.servers + "/axe_playwright_python/axe.min.js",
            encoding: .utf8)
    }

    /// Starts a browser and opens a window of 1280 × 900 pixels.
    public init() async throws {
        guard let driver = ServerProcess.program("chromedriver"),
            let chromium = Self.chromium
        else { throw ServerFailure(name: "chromium", message: Self.missing ?? "") }
        process = try await onThreadOfItsOwn { try ServerProcess("browser.sh", [driver]) }
        var arguments = [
            "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--hide-scrollbars", "--window-size=1280,900",
            "--disable-background-networking",
        ]
        // The sandbox does not work for root.
        if geteuid() == 0 { arguments.append("--no-sandbox") }
        let capabilities: [String: Any] = [
            "browserName": "chrome",
            "goog:loggingPrefs": ["browser": "ALL", "performance": "ALL"],
            "goog:chromeOptions": ["binary": chromium, "args": arguments] as [String: Any],
            "timeouts": ["script": 300_000, "pageLoad": 300_000],
        ]
        let started = try await Self.send(
            process.port, "POST", "/session", ["capabilities": ["alwaysMatch": capabilities]])
        guard let started = started as? [String: Any], let session = started["sessionId"] as? String
        else { throw ServerFailure(name: "chromium", message: "no session: \(started ?? "")") }
        self.session = session
    }

    /// Stops the browser and removes its files.
    public func stop() { process.stop() }

    /// Loads a page and waits for its `load` event.
    public func open(_ url: String) async throws {
        _ = try await send("POST", "/url", ["url": url])
    }

    /// Runs the body of a function, which returns a JSON value or a promise of one.
    ///
    /// - Returns: The decoded value. Null and undefined are decoded as null.
    public func run<Value: Decodable>(_ script: String, as _: Value.Type) async throws -> Value {
        let value = try await send("POST", "/execute/sync", ["script": script, "args": [String]()])
        let data = try JSONSerialization.data(
            withJSONObject: value ?? NSNull(), options: .fragmentsAllowed)
        return try JSONDecoder().decode(Value.self, from: data)
    }

    /// Runs the body of a function and ignores its result.
    public func run(_ script: String) async throws {
        _ = try await send("POST", "/execute/sync", ["script": script, "args": [String]()])
    }

    /// Waits until an expression is true. Evaluates it in each frame.
    public func wait(until expression: String) async throws {
        try await run(
            """
            return new Promise((resolve) => {
              const check = () => (\(expression)) ? resolve() : requestAnimationFrame(check);
              check();
            });
            """)
    }

    /// Presses keys one after the other in the focused element. See ``Key``.
    public func press(_ keys: String) async throws {
        let actions = keys.unicodeScalars.flatMap { key in
            ["keyDown", "keyUp"].map { ["type": $0, "value": String(key)] }
        }
        _ = try await send(
            "POST", "/actions",
            ["actions": [["type": "key", "id": "keyboard", "actions": actions] as [String: Any]]])
    }

    /// WebDriver's names of keys that are not characters.
    public enum Key {
        /// Enter.
        public static let enter = "\u{E007}"
        /// Tab.
        public static let tab = "\u{E004}"
        /// Escape.
        public static let escape = "\u{E00C}"
        /// Page down.
        public static let pageDown = "\u{E00F}"
        /// End.
        public static let end = "\u{E010}"
        /// Home.
        public static let home = "\u{E011}"
        /// Right arrow.
        public static let right = "\u{E014}"
        /// Down arrow.
        public static let down = "\u{E015}"
    }

    /// Sets the preferred colour scheme.
    public func prefer(dark: Bool) async throws {
        let feature = ["name": "prefers-color-scheme", "value": dark ? "dark" : "light"]
        _ = try await send(
            "POST", "/goog/cdp/execute",
            [
                "cmd": "Emulation.setEmulatedMedia",
                "params": ["features": [feature]] as [String: Any],
            ])
    }

    /// Sets the size of the page in CSS pixels.
    public func resize(width: Int, height: Int) async throws {
        _ = try await send(
            "POST", "/goog/cdp/execute",
            [
                "cmd": "Emulation.setDeviceMetricsOverride",
                "params": [
                    "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
                ] as [String: Any],
            ])
    }

    /// Moves the mouse pointer to the middle of the first element that matches a selector.
    public func point(at selector: String) async throws {
        let middle = try await run(
            """
            const area = document.querySelector("\(selector)").getBoundingClientRect();
            return [area.x + area.width / 2, area.y + area.height / 2].map(Math.round);
            """, as: [Int].self)
        let move: [String: Any] = [
            "type": "pointerMove", "duration": 0, "x": middle[0], "y": middle[1],
        ]
        let mouse: [String: Any] = ["type": "pointer", "id": "mouse", "actions": [move]]
        _ = try await send("POST", "/actions", ["actions": [mouse]])
    }

    /// Returns a PNG of the window.
    public func screenshot() async throws -> Data {
        let text = try await send("GET", "/screenshot", nil) as? String
        return text.flatMap { Data(base64Encoded: $0) } ?? Data()
    }

    /// Returns the console messages since the last call.
    public func consoleMessages() async throws -> [String] { try await log("browser") }

    /// Returns the URLs requested since the last call, without `data:` and `chrome:` URLs.
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
        let entries = try await send("POST", "/se/log", ["type": type]) as? [[String: Any]]
        return (entries ?? []).compactMap { $0["message"] as? String }
    }

    private func send(
        _ method: String, _ path: String, _ body: [String: Any]?
    ) async throws -> Any? {
        try await Self.send(process.port, method, "/session/\(session)\(path)", body)
    }

    private static func send(
        _ port: UInt16, _ method: String, _ path: String, _ body: [String: Any]?
    ) async throws -> Any? {
        let content = try body.map { try JSONSerialization.data(withJSONObject: $0) } ?? Data()
        let response = try await onThreadOfItsOwn {
            let client = try RawClient(port: port)
            let head = [
                "\(method) \(path) HTTP/1.1", "Host: localhost", "Content-Type: application/json",
                "Content-Length: \(content.count)", "\r\n",
            ]
            client.send(Array(head.joined(separator: "\r\n").utf8) + content)
            return try client.readResponse()
        }
        let answer = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        guard response.status == 200 else {
            let error = answer?["value"] as? [String: Any]
            throw ServerFailure(
                name: "chromium", message: "\(path): \(error?["message"] ?? "no message")")
        }
        return answer?["value"]
    }
}
