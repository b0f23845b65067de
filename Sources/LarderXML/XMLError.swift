/// Why a document cannot be read.
package struct XMLError: Error, Equatable {
    /// The kinds of failure.
    package enum Code: Equatable, Sendable {
        /// The rules of XML are broken, or the document ends early.
        case malformed
        /// The document has a document type that is refused.
        case declarations
        /// The document exceeds a limit of ``XMLRules``, or one of libxml2.
        case tooLarge
        /// Its elements nest too deeply.
        case tooDeep
        /// The root is not the element that ``XMLRules/elements`` begins with.
        case otherRoot(String)
        /// An element is not one of ``XMLRules/elements``.
        case otherElement(String)
    }

    /// The kind of failure. A name in it is foreign text.
    package let code: Code
    /// The line, counted from 1. Nil if it is not known.
    package let line: Int?
    /// The reason in words. It may contain foreign text.
    package let reason: String

    init(_ code: Code, line: Int?, _ reason: String = "") {
        self.code = code
        self.line = line
        self.reason = reason
    }
}
