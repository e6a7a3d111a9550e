/** Where files are kept outside of the database: a folder, or a service that speaks S3. An object is written once and never changed. */
export interface ObjectStore {
  /** For people and logs: without secrets. */
  readonly name: string
  /** Resolves once the whole object is stored and survives a crash. `sha256`: of the bytes, in hexadecimal. */
  put(object: string, bytes: Uint8Array, sha256: string): Promise<void>
  /** Up to `length` bytes: fewer where the object ends before. null: there is no such object. */
  read(object: string, from: number, length: number): Promise<Buffer | null>
  /** An object that is not there is deleted already. */
  delete(object: string): Promise<void>
  /** The objects whose names begin with `folder` and a slash, a batch at a time. */
  list(folder: string): AsyncGenerator<ListedObject[]>
  /** The first parts of the names of its objects. */
  listFolders(): Promise<string[]>
}

export interface ListedObject {
  name: string
  size: number
  modifiedAt: Date
}

/** The store cannot be reached, or refuses what was asked. The message is Portuguese, and says what to look at. */
export class ObjectStoreFault extends Error {
  override readonly name = 'ObjectStoreFault'
}
