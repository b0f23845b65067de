import LarderTestSupport
import Testing

/// Cached icons whose host name does not resolve.
struct MirroredPage {
    let urls: [String]
    /// The number of requests that filled the cache.
    let requests: Int

    init(_ larder: CLIFixture, count: Int = 200) throws {
        urls = (0..<count).map { "http://icons.invalid/\($0).svg?size=64" }
        for number in 0..<count {
            larder.origin.on("/\(number).svg?size=64", Icons.reply(number))
        }
        let prefetch = try larder.prefetch(
            try larder.manifest(urls: urls),
            options: ["--connect-to", "icons.invalid:80:127.0.0.1:\(larder.origin.port)"])
        try #require(prefetch.status == 0, "\(prefetch.finished)")
        requests = larder.origin.count()
    }
}
