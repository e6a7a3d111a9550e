/** The first bytes of an answer over HTTP, which may be endless: what lies beyond is never taken in. */
export async function readBeginning(answer: Response, most: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer.body ?? []) {
    chunks.push(chunk as Uint8Array)
    size += (chunk as Uint8Array).length
    if (size >= most) break
  }
  return Buffer.concat(chunks).subarray(0, most)
}
