/// A URL as a manifest spells it, and the key of its resource.
package struct Spelling: Sendable {
    package let text: String
    package let key: String

    package init(_ text: String, of key: String) {
        self.text = text
        self.key = key
    }
}
