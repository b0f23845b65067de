import Foundation
import LarderCache
import LarderCore
import LarderManifest

/// A resource to fetch. A class, because attempts share it until their batch is committed.
final class PlannedResource: Sendable {
    let id: Int64
    let key: String
    /// The canonical URL without credentials.
    let url: String
    let credentials: Credentials?
    let priority: Int
    let known: Resource?
    let waiting: Waiting?
    var hasExpectation: Bool { waiting == nil }

    init(_ id: Int64, _ row: inout RowReader, opening seal: CredentialSeal) throws {
        let key = row.text() ?? ""
        (self.id, self.key, known) = (id, key, nil)
        url = row.text() ?? key
        credentials = try row.data().map(seal.open)
        priority = Int(row.integer())
        let waiting = (entries: Int(row.integer()), icons: Int(row.integer()))
        self.waiting = row.bool() ? nil : waiting
    }

    init(_ other: PlannedResource, known: Resource) {
        (id, key, url, priority) = (other.id, other.key, other.url, other.priority)
        (credentials, waiting, self.known) = (other.credentials, other.waiting, known)
    }

    /// The number of icons with the resource, and of entries that have it as their first icon. Nil
    /// if an entry requires a digest or size, because then each entry must be checked.
    typealias Waiting = (entries: Int, icons: Int)

    /// A position in fetch order: by priority, then in manifest order.
    struct Place: Comparable {
        /// `~priority`, so that ascending order is fetch order.
        let turn: Int
        let fetch: Int64

        static func < (left: Place, right: Place) -> Bool {
            (left.turn, left.fetch) < (right.turn, right.fetch)
        }
    }

    var place: Place { Place(turn: ~priority, fetch: id) }

    var target: HTTPURL { get throws(HTTPURL.ParseError) { try HTTPURL(url).with(credentials) } }
}

struct NamedResource {
    let id: Int64
    /// Nil if the resource has no variant.
    var key: String?
    /// Nil if the URL equals the key.
    let url: String?
    var hasCredentials: Bool
    var priority: Int64
    var entries = 0
    var icons = 0
    var known: Known?
    var hasFailed = false
    /// Whether a recent failure of the same URL was permanent.
    var isGivenUp = false
    var conflict: (first: Int64, second: Int64)?

    struct Known {
        let object: Int64
        let digest: Digest
        let size: Int64
        let isImage: Bool
        let isFresh: Bool
        let isImmutable: Bool
        let isUseDue: Bool
        let redirectedTo: String?
        let variant: Variant?
        var isAsDemanded = true
    }

    /// Indirect to save memory, because most responses have no `Vary` field.
    indirect enum Variant { case stored(Digest?, vary: String?) }

    func mayBeUsed(_ known: Known, policy: PlanPolicy, headers: RequestHeaders) -> Bool {
        if policy.isOffline { return true }
        if policy.fetchesAll { return false }
        return switch policy.revalidation {
        case .never: true
        case .stale: known.isFresh && isWantedVariant(known, headers)
        // A redirect can change even if its target is immutable.
        case .always:
            known.isFresh && known.redirectedTo == nil && known.isImmutable
                && isWantedVariant(known, headers)
        }
    }

    /// Whether the stored variant matches the request (RFC 9111, section 4.1).
    private func isWantedVariant(_ known: Known, _ headers: RequestHeaders) -> Bool {
        guard case .stored(let digest, vary: let vary)? = known.variant else { return true }
        guard let digest, let vary, let address = self.url ?? key, let url = try? HTTPURL(address)
        else { return false }
        let target = known.redirectedTo.flatMap { try? HTTPURL($0) } ?? url
        let fields = headers.selecting(
            for: target, isRedirected: target.origin != url.origin, hasCredentials: hasCredentials)
        return Vary(vary).variant(for: fields) == digest
    }
}

extension NamedResource.Known {
    static func columns(at now: Date, directives: String) -> String {
        """
        o.digest, o.id, o.size, o.media_type IS NOT NULL, \(Resource.isFresh(at: now)),
        \(directives), \(ObjectUse.isDue(at: now)), r.response_url, r.variant IS NOT NULL,
        r.variant, r.vary
        """
    }

    /// Returns nil for a damaged row, so that the resource is fetched again.
    init?(_ row: inout RowReader) {
        guard let digest = row.digest() else { return nil }
        self.init(
            object: row.integer(), digest: digest, size: row.integer(),
            isImage: row.bool(), isFresh: row.bool(),
            isImmutable: CacheControl(row.text()).isImmutable, isUseDue: row.bool(),
            redirectedTo: row.text(),
            variant: row.bool() ? .stored(row.digest(), vary: row.text()) : nil)
    }
}

extension Expectation {
    func failure(digest: Digest, size: Int64) -> ResourceFailure? {
        mismatch(digest: digest, size: size).map {
            ResourceFailure(code: $0.code, message: $0.message, isTransient: false)
        }
    }

    static let columns = "e.digest, e.size"

    init(_ row: inout RowReader) { self.init(digest: row.digest(), size: row.optionalInteger()) }
}
