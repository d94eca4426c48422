// What the API says of every kind: for completion in editors, and for help texts of forms.
import { queryOptions } from "@tanstack/react-query";

import type { Descriptions } from "./completions";

interface Described {
  components: { schemas: Descriptions };
}

let described: Promise<Descriptions> | undefined;

/** What the API says of every kind, fetched once when completion first needs it; none where it cannot be fetched. */
export function descriptions(): Promise<Descriptions> {
  described ??= fetch("/v1/openapi.json")
    .then((answer) => answer.json() as Promise<Described>)
    .then(({ components }) => components.schemas)
    .catch(() => {
      described = undefined;
      return {};
    });
  return described;
}

/** The same for a form, which says of each field what the API says of it. */
export const descriptionsQuery = queryOptions({ queryKey: ["descriptions"], queryFn: descriptions, staleTime: Infinity });
