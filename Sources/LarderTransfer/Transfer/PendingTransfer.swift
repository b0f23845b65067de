/// A transfer on its way to the loop: all that is needed to carry it out, and to end it.
struct PendingTransfer: Sendable {
    let id: TransferID
    var request: TransferRequest
    let receiver: any TransferReceiver
    /// ``HTTPURL/origin`` of the request, made once on the caller's thread.
    let origin: String

    init(id: TransferID, request: TransferRequest, receiver: any TransferReceiver) {
        self.id = id
        self.request = request
        self.receiver = receiver
        origin = request.url.origin
    }

    func end(_ result: Result<TransferMetrics, TransferError>) {
        receiver.transfer(id, didEnd: result)
    }

    func end(_ code: TransferError.Code, _ message: String) {
        end(.failure(TransferError(code: code, url: request.url, message: message)))
    }

    func endAsCancelled() {
        end(.cancelled, "cancelled")
    }
}
