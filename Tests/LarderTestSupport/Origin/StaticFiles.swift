import Foundation

/// The files of a directory, served under a prefix with validators.
struct StaticFiles {
    let directory: String
    let prefix: String

    /// Returns the reply; nil if the request is for a path outside the prefix.
    func reply(to request: Request) -> Reply? {
        guard request.path.hasPrefix(prefix + "/") else { return nil }
        let relative = request.path.dropFirst(prefix.count + 1)
        guard let name = String(relative).removingPercentEncoding, isPlain(name) else {
            return .status(404)
        }
        return reply(with: "\(directory)/\(name)", to: request)
    }

    /// Whether a relative path stays within the directory.
    private func isPlain(_ path: String) -> Bool {
        let components = path.split(separator: "/", omittingEmptySubsequences: false)
        return !path.utf8.contains(0) && !components.contains { ["", ".", ".."].contains($0) }
    }

    private func reply(with path: String, to request: Request) -> Reply {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let body = try? Data(contentsOf: URL(fileURLWithPath: path))
        else { return .status(404) }
        #if canImport(Darwin)
            let modified = status.st_mtimespec
        #else
            let modified = status.st_mtim
        #endif
        let nanoseconds = Int(modified.tv_sec) * 1_000_000_000 + Int(modified.tv_nsec)
        let tag = "\"\(String(nanoseconds, radix: 16))-\(String(status.st_size, radix: 16))\""
        let date = Date(timeIntervalSince1970: TimeInterval(modified.tv_sec))
        let reply =
            isUnchanged(since: date, tag, request)
            ? Reply.notModified : Reply.ok(body, type: contentType(of: path))
        return reply.header("ETag", tag).header("Last-Modified", HTTPDate.string(from: date))
    }

    /// Whether the client's copy is current. `If-None-Match` has precedence (RFC 9110, section
    /// 13.2.2).
    private func isUnchanged(since date: Date, _ tag: String, _ request: Request) -> Bool {
        if let tags = request.header("If-None-Match") {
            return tags.split(separator: ",").contains { candidate in
                let candidate = candidate.trimmingCharacters(in: .whitespaces)
                return candidate == "*" || candidate == tag || candidate == "W/\(tag)"
            }
        }
        guard let since = request.header("If-Modified-Since").flatMap(HTTPDate.date(from:)) else {
            return false
        }
        return date <= since
    }

    private func contentType(of path: String) -> String {
        switch URL(fileURLWithPath: path).pathExtension.lowercased() {
        case "png": "image/png"
        case "jpg", "jpeg": "image/jpeg"
        case "gif": "image/gif"
        case "webp": "image/webp"
        case "avif": "image/avif"
        case "heic": "image/heic"
        case "ico": "image/vnd.microsoft.icon"
        case "bmp": "image/bmp"
        case "svg": "image/svg+xml"
        case "html": "text/html; charset=utf-8"
        case "txt": "text/plain; charset=utf-8"
        case "json": "application/json"
        case "plist": "application/x-plist"
        case "xml": "application/xml"
        default: "application/octet-stream"
        }
    }
}
