interface JSONRespond {
  (value: string): Response
  <T = unknown>(value: T, status?: number): Response
  <T = unknown>(value: T, init: ResponseInit): Promise<Response>
}
