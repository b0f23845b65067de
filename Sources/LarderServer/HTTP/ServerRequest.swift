import LarderCache
import NIOHTTP1
import Synchronization

/// What matters of a request's head.
struct ServerRequest: Sendable {
    /// The method, as it was sent.
    let method: HTTPMethod
    /// The request's target, as it was sent: text from outside.
    let target: String
    private(set) var host: String?
    private(set) var hostCount = 0
    private(set) var range: String?
    private(set) var ifRange: String?
    private(set) var ifMatch: String?
    private(set) var ifNoneMatch: String?
    /// Whether a body was announced.
    private(set) var hasBody = false
    /// Whether the client wants the connection to stay open.
    let isKeepAlive: Bool
    /// Whether it is HTTP/1.0, which knows no chunks.
    let isOld: Bool
    /// What is wrong with it already: the status to be refused with; nil if nothing is.
    let refusal: Int?
    /// Whether a page of another site has caused it. Browsers say so (Fetch Metadata Request
    /// Headers, section 2.1), and only they.
    private(set) var isCrossSite = false

    /// The client that sent it.
    let client: Client

    /// Whether the body is left out of the response.
    var isHead: Bool { method == .HEAD }

    init(_ head: HTTPRequestHead, from client: Client = Client()) {
        self.client = client
        method = head.method
        target = head.uri
        isKeepAlive = head.isKeepAlive
        isOld = head.version.minor == 0
        refusal = nil
        for (name, value) in head.headers {
            // By its length first: most fields are none of these.
            switch name.utf8.count {
            case 4 where name.utf8.isWord("host"):
                host = value
                hostCount += 1
            case 5 where name.utf8.isWord("range"): range = value
            case 8 where name.utf8.isWord("if-range"): ifRange = value
            case 8 where name.utf8.isWord("if-match"):
                ifMatch = ifMatch.map { "\($0),\(value)" } ?? value
            case 13 where name.utf8.isWord("if-none-match"):
                ifNoneMatch = ifNoneMatch.map { "\($0),\(value)" } ?? value
            case 14 where name.utf8.isWord("content-length"):
                hasBody = hasBody || !value.utf8.trimmingBlanks.elementsEqual("0".utf8)
            case 17 where name.utf8.isWord("transfer-encoding"): hasBody = true
            case 14 where name.utf8.isWord("sec-fetch-site"):
                isCrossSite = value.utf8.trimmingBlanks.isWord("cross-site")
            default: break
            }
        }
    }

    /// What could not be read as a request: it is refused, and the connection ends.
    init(refusedWith status: Int) {
        client = Client()
        method = .GET
        target = ""
        isKeepAlive = false
        isOld = false
        refusal = status
    }
}

/// A client whose request is being answered.
final class Client: Sendable {
    private let gone = Atomic<Bool>(false)

    /// Whether it has disconnected.
    var isGone: Bool { gone.load(ordering: .relaxed) }

    func leave() { gone.store(true, ordering: .relaxed) }
}
