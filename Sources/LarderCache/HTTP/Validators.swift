import Foundation
import LarderCore

/// The header fields of a response by which its freshness is judged and its origin asked again.
public struct Validators: Sendable, Equatable, Codable {
    /// The `ETag` field as it came, quotes and weakness mark included.
    public var etag: String?
    /// The `Last-Modified` field as it came.
    public var lastModified: String?
    /// The `Date` field as it came.
    public var date: String?
    /// The `Age` field, in seconds.
    public var age: TimeInterval?
    /// The `Cache-Control` field, several joined by commas.
    public var cacheControl: String?
    /// The `Expires` field as it came.
    public var expires: String?
    /// The `Vary` field, several joined by commas.
    public var vary: String?

    /// No fields at all.
    public init() {}

    /// The fields of a response; `fields` returns all values of a name in the order they came.
    ///
    /// Of a field that states one value the first counts, and an `Age` that is not a number is
    /// ignored (RFC 9111, sections 4.2.1 and 5.1).
    public init(_ fields: (_ name: String) -> [String]) {
        func list(_ name: String) -> String? {
            let values = fields(name)
            return values.isEmpty ? nil : values.joined(separator: ", ")
        }
        etag = fields("ETag").first
        lastModified = fields("Last-Modified").first
        date = fields("Date").first
        age = fields("Age").first?.utf8.split(separator: UInt8(ascii: ",")).first
            .flatMap { DeltaSeconds.parse(Array($0.trimmingBlanks)) }.map(TimeInterval.init)
        cacheControl = list("Cache-Control")
        expires = fields("Expires").first
        vary = list("Vary")
    }

    /// These fields, completed from `older`, since a 304 need not repeat them (RFC 9111, section
    /// 3.2), except `Date` and `Age`.
    public func completed(from older: Validators) -> Validators {
        var merged = self
        merged.etag = etag ?? older.etag
        merged.lastModified = lastModified ?? older.lastModified
        merged.cacheControl = cacheControl ?? older.cacheControl
        merged.expires = expires ?? older.expires
        merged.vary = vary ?? older.vary
        return merged
    }

    /// Whether a 304 is about `stored`: ETags must match, weak or not (RFC 9111, section 4.3.4).
    package func vouch(for stored: Validators) -> Bool {
        guard let etag, let known = stored.etag else { return true }
        func opaque(_ tag: String) -> Substring.UTF8View {
            tag.utf8.starts(with: "W/".utf8) ? tag.utf8.dropFirst(2) : tag.utf8[...]
        }
        return opaque(etag).elementsEqual(opaque(known))
    }

    /// The header fields of a conditional request (RFC 9111, section 4.3.1). Another variant gets
    /// only an ETag, because variants are often modified at the same time.
    package func conditions(sameVariant: Bool = true) -> [(name: String, value: String)] {
        var conditions: [(name: String, value: String)] = []
        // What cannot be sent as it came is not sent: the request would fail for it.
        if let etag, etag.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) {
            conditions.append(("If-None-Match", etag))
        }
        if sameVariant, let lastModified, HTTPDate.parse(lastModified) != nil {
            conditions.append(("If-Modified-Since", lastModified))
        }
        return conditions
    }
}

/// The request header fields that a response was selected by (RFC 9110, section 12.5.5).
package struct Vary: Equatable, Sendable {
    /// Whether the response depends on more than header fields: `*`, alone or among others.
    package let isAny: Bool
    /// The names in lower case, sorted. Without `accept-encoding`: bodies are stored decoded.
    package let names: [String]

    /// Reads the field's value; several fields are joined by commas first.
    package init(_ field: String) {
        var isAny = false
        var names: Set<String> = []  // text: ASCII
        for member in field.utf8.split(separator: UInt8(ascii: ",")).map(\.trimmingBlanks) {
            if member.isWord("*") {
                isAny = true
            } else if !member.isEmpty, !member.isWord("accept-encoding"),
                member.allSatisfy({ $0 < 0x80 })
            {
                names.insert(String(decoding: member.lowercasedASCII, as: UTF8.self))
            }
        }
        self.isAny = isAny
        self.names = names.sorted()
    }

    /// A digest of the header fields that select the variant; nil if none does. The values may be
    /// secrets, which no index may hold. Fields of one name count as one (RFC 9111, section 4.1).
    package func variant(for fields: [(name: String, value: String)]) -> Digest? {
        guard !names.isEmpty else { return nil }
        var sent: [[UInt8]: [UInt8]] = [:]
        for (name, value) in fields {
            let name = name.utf8.lowercasedASCII
            // A line feed is in no name and no value; `absent` and `empty` must differ.
            sent[name] =
                (sent[name].map { $0 + Array(", ".utf8) } ?? Array(":".utf8))
                + value.utf8.trimmingBlanks
        }
        var hasher = RunningDigest()
        for name in names {
            let name = Array(name.utf8)
            hasher.update(name + (sent[name] ?? []) + Array("\n".utf8))
        }
        return hasher.digest
    }
}
