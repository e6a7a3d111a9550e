/** Whose attempt it was, by the name that it keeps: nobody else may be asked about it, repeat it, or say that it never took it. */
export const carrierOf = <T extends { name: string; formerly: string | undefined }>(
  lanes: readonly T[],
  provider: string,
): T | undefined => lanes.find(({ name }) => name === provider) ?? lanes.find(({ formerly }) => formerly === provider)
