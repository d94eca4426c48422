// The next page of a list that the stream may read anew at the same moment.

interface Read<Data> {
  data: Data | undefined;
  hasNextPage: boolean;
  isError: boolean;
}

export interface PagedList<Data> {
  data: Data | undefined;
  fetchNextPage: (options: { cancelRefetch: boolean }) => Promise<Read<Data>>;
}

const MAX_READS = 5;

/** Reads one more page and tells whether there are still more: a read that is under way ends first, and one that cancels this is waited for. */
export async function nextPage<Data>({ data, fetchNextPage }: PagedList<Data>, sizeOf: (data: Data) => number): Promise<boolean> {
  const known = data === undefined ? 0 : sizeOf(data);
  let read = await fetchNextPage({ cancelRefetch: false });
  for (let reads = 1; reads < MAX_READS && read.hasNextPage && !read.isError && (read.data === undefined || sizeOf(read.data) <= known); reads += 1) {
    read = await fetchNextPage({ cancelRefetch: false });
  }
  return read.hasNextPage;
}
