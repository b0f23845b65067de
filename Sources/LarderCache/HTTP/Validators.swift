import Foundation
import LarderCore

/// The header fields that determine a response's freshness and revalidation.
public struct Validators: Sendable, Equatable, Codable {
    /// The `ETag` field, with quotes and weakness mark.
    public var etag: String?
    /// The `Last-Modified` field.
    public var lastModified: String?
    /// The `Date` field.
    public var date: String?
    /// The `Age` field, in seconds.
    public var age: TimeInterval?
    /// The `Cache-Control` fields, joined by commas.
    public var cacheControl: String?
    /// The `Expires` field.
    public var expires: String?
    /// The `Vary` fields, joined by commas.
    public var vary: String?

    /// Creates validators without fields.
    public init() {}

    /// Creates the validators of a response. `fields` returns all values for a name, in order.
    ///
    /// If a field that allows only one value is repeated, the first value is used. An `Age` that is
    /// not a number is ignored (RFC 9111, sections 4.2.1 and 5.1).
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

    /// Returns these fields, and the missing ones from `older`, except `Date` and `Age`. A 304 need
    /// not repeat all fields (RFC 9111, section 3.2).
    public func completed(from older: Validators) -> Validators {
        var merged = self
        merged.etag = etag ?? older.etag
        merged.lastModified = lastModified ?? older.lastModified
        merged.cacheControl = cacheControl ?? older.cacheControl
        merged.expires = expires ?? older.expires
        merged.vary = vary ?? older.vary
        return merged
    }

    /// Whether a 304 with these fields confirms `stored` (RFC 9111, section 4.3.4).
    package func vouch(for stored: Validators) -> Bool {
        guard let etag, let known = stored.etag else { return true }
        func opaque(_ tag: String) -> Substring.UTF8View {
            tag.utf8.starts(with: "W/".utf8) ? tag.utf8.dropFirst(2) : tag.utf8[...]
        }
        return opaque(etag).elementsEqual(opaque(known))
    }

    /// The ETag, or nil if it contains control characters, which would make a request fail.
    package var sendableETag: String? {
        etag.flatMap { $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } ? $0 : nil }
    }

    /// Returns the fields of a conditional request (RFC 9111, section 4.3.1). For a different
    /// variant, returns only the ETag, because variants are often modified at the same time.
    package func conditions(sameVariant: Bool = true) -> [(name: String, value: String)] {
        var conditions: [(name: String, value: String)] = []
        if let etag = sendableETag { conditions.append(("If-None-Match", etag)) }
        if sameVariant, let lastModified, HTTPDate.parse(lastModified) != nil {
            conditions.append(("If-Modified-Since", lastModified))
        }
        return conditions
    }
}

/// The request header fields that select a response (RFC 9110, section 12.5.5).
package struct Vary: Equatable, Sendable {
    /// Whether the response depends on more than header fields (`*`).
    package let isAny: Bool
    /// The sorted lower-case names, without `accept-encoding`, because bodies are stored decoded.
    package let names: [String]

    package init(_ field: String) {
        let members = field.utf8.split(separator: UInt8(ascii: ",")).map(\.trimmingBlanks)
        isAny = members.contains { $0.isWord("*") }
        let named = members.lazy.filter { member in
            !member.isEmpty && !member.isWord("*") && !member.isWord("accept-encoding")
                && member.allSatisfy { $0 < 0x80 }
        }
        names = Set(named.map { String(decoding: $0.lowercasedASCII, as: UTF8.self) }).sorted()
    }

    /// Returns a digest of the named request fields, or nil if there are no names. The fields may
    /// be secret. Combines fields with the same name (RFC 9111, section 4.1).
    package func variant(for fields: [(name: String, value: String)]) -> Digest? {
        guard !names.isEmpty else { return nil }
        var hasher = RunningDigest()
        for name in names {
            let name = Array(name.utf8)
            let values = fields.filter { $0.name.utf8.lowercasedASCII == name }
                .map { Array($0.value.utf8.trimmingBlanks) }
            let value = Array(values.joined(separator: Array(", ".utf8)))
            // The colon distinguishes an empty field from a missing one.
            hasher.update(name + (values.isEmpty ? [] : Array(":".utf8)) + value)
            hasher.update(Array("\n".utf8))
        }
        return hasher.digest
    }
}
