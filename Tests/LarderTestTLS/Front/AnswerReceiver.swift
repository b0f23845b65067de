/// Who waits for the origin's answer to one request.
protocol AnswerReceiver: AnyObject {
    /// Whether the client takes more at this moment.
    var hasRoom: Bool { get }
    /// The next parts of the answer.
    func take(_ parts: [AnswerParser.Part])
    /// The origin has left before its answer was whole.
    func abandon()
}
