/// A receiver of the origin's response to one request.
protocol ResponseReceiver: AnyObject {
    /// Whether the client has room for more data.
    var hasRoom: Bool { get }
    /// Processes the next parts of the response.
    func receive(_ parts: [ResponseParser.Part])
    /// Handles the loss of the origin's connection before the end of the response.
    func abandon()
}
