import Foundation
import LarderCache

/// One icon of a lock: a manifest's entry with the bytes that it came to, so that whoever
/// prefetches it gets the same ones or an error.
public struct LockedEntry: Sendable, Equatable {
    /// The app's name; "" if it has none. Text from outside.
    public let name: String
    /// The icon's absolute URL without credentials, as the manifest spells it if that is absolute,
    /// or a `data:` URL if the manifest held the icon itself.
    public let icon: String
    /// The resource's identity if that is not the URL.
    public let key: String?
    /// Higher is fetched first: the highest of all entries of the resource.
    public let priority: Int
    /// The digest of its bytes.
    public let digest: Digest
    /// How many there are.
    public let size: Int64

    /// The entry in a manifest's plain form: one JSON object, without a line end. What could steer
    /// a terminal is escaped.
    public var json: String {
        var object = JSONObject()
        if !name.isEmpty { object.set("name", exactly: name) }
        object.set("icon", exactly: icon)
        if let key { object.set("key", exactly: key) }
        switch PriorityName(of: priority) {
        case .normal: break
        case let name?: object.set("priority", name.rawValue)
        case nil: object.set("priority", priority)
        }
        object.set("integrity", "sha256-" + Data(digest.bytes).base64EncodedString())
        object.set("size", size)
        return object.text
    }
}
