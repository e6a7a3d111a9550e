/** Whether a host name, as a URL has it, can only mean this machine. */
export const isLoopback = (host: string): boolean => /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host)
