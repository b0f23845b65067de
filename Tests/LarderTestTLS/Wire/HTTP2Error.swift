/// A failed operation of nghttp2.
package struct HTTP2Error: Error, CustomStringConvertible {
    package let description: String

    init(_ operation: String) { description = "HTTP/2: \(operation)" }
}
