// The views of the grid that users saved: one's own, and those that others share.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";
import type { SavedView } from "@/lib/api/types";

/** One's own views, then those that others share. */
export const savedViewsQuery = queryOptions({
  queryKey: ["views"],
  queryFn: async ({ signal }): Promise<SavedView[]> => (await contentOf(api.GET("/v1/views", { signal }))).items,
});

/** Saves a view in place of one's own of that name. */
export function saveView({ name, query, isShared }: Pick<SavedView, "name" | "query" | "isShared">): Promise<SavedView> {
  return contentOf(api.PUT("/v1/views/{name}", { params: { path: { name } }, body: { query, isShared } }));
}

/** Deletes one's own view. */
export function deleteView(name: string) {
  return contentOf(api.DELETE("/v1/views/{name}", { params: { path: { name } } }));
}
