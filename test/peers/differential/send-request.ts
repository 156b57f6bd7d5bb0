/** Sends a request again if the server has closed the idle connection that it used. */
export async function fetchAgain(url: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(url, options);
  } catch (error) {
    const { cause } = error as Error;
    if (cause instanceof Error && "code" in cause && cause.code === "UND_ERR_SOCKET") {
      return await fetch(url, options);
    }
    throw error;
  }
}

export function parseJson(text: string): unknown {
  if (text === "") {
    return null;
  }
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
