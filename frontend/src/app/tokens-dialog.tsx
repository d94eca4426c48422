// The user's own tokens: which there are, with which roles, until when.
import { useQuery } from "@tanstack/react-query";

import { Modal } from "@/components/ui/modal";
import { PlainTable } from "@/components/ui/plain-table";
import { Empty } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { api, contentOf } from "@/lib/api/request";
import type { TokenDetail } from "@/lib/api/types";
import { formatAbsolute } from "@/lib/format/times";

const HEADS = ["Token", "Role", "Scope", "Created", "Expires"];

export function TokensDialog({ onClose }: { onClose: () => void }) {
  const tokens = useQuery({ queryKey: ["whoami", "tokens"], queryFn: ({ signal }) => contentOf(api.GET("/v1/whoami/tokens", { signal })) });
  return (
    <Modal open title="Your tokens" words="Secrets are shown only when a token is made. An admin makes and revokes tokens: headgate token." onClose={onClose}>
      <View query={tokens} rows={2} empty={({ items }) => (items.length === 0 ? <NoTokens /> : undefined)}>
        {({ items }) => (
          <PlainTable label="Your tokens" heads={HEADS}>
            {items.map((token) => (
              <tr key={token.name}>
                <th scope="row">{token.name}</th>
                <td>{token.role ?? (token.serviceAccount === "" ? "—" : "of the service account")}</td>
                <td>{scopeWords(token)}</td>
                <td>{formatAbsolute(token.createdAt)}</td>
                <td>{token.expiresAt ? formatAbsolute(token.expiresAt) : "never"}</td>
              </tr>
            ))}
          </PlainTable>
        )}
      </View>
    </Modal>
  );
}

function NoTokens() {
  return <Empty title="No token of your own">You are signed in with the token of the installation, which its data directory keeps.</Empty>;
}

function scopeWords({ namespaces = [], clusterQueues = [], executor }: TokenDetail): string {
  return [...namespaces, ...clusterQueues, executor].filter(Boolean).join(", ") || "everything";
}
