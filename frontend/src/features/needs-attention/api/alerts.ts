// Acknowledging causes, and webhooks with their deliveries.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";
import type { Webhook } from "@/lib/api/types";

export interface CauseChange {
  causes: string[];
  reason: string;
  /** The end of a snooze. */
  until?: string;
}

/** Acknowledges causes, or snoozes them; the keys of those that changed. */
export async function acknowledge({ causes, reason, until }: CauseChange): Promise<string[]> {
  const body = until === undefined ? { causes, reason } : { causes, reason, until };
  return (await contentOf(api.POST("/v1/attention/acknowledge", { body }))).causes;
}

/** Ends acknowledgments and snoozes of causes. */
export async function reopen(causes: string[], reason: string): Promise<string[]> {
  return (await contentOf(api.POST("/v1/attention/reopen", { body: { causes, reason } }))).causes;
}

const MAX_CLOSED = 500;

/** The causes that closed in the last days, the last closed first. */
export const closedCausesQuery = queryOptions({
  queryKey: ["alerts", "closed"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/attention/closed", { params: { query: { limit: MAX_CLOSED } }, signal })),
});

/** The rules that raise alerts. */
export const alertRulesQuery = queryOptions({
  queryKey: ["alert-rules"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/attention/rules", { signal })),
});

/** All webhooks, by name. */
export const webhooksQuery = queryOptions({
  queryKey: ["webhooks"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/webhooks", { params: { query: { limit: 1000 } }, signal })),
});

/** The notifications of a webhook, the newest first, and whether it has a secret. */
export function deliveriesQuery(name: string) {
  return queryOptions({
    queryKey: ["webhooks", name, "deliveries"],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/webhooks/{name}/deliveries", { params: { path: { name } }, signal })),
  });
}

/** A webhook that tells of causes of a severity and above. */
export async function createWebhook(name: string, url: string, minSeverity: Webhook["spec"]["minSeverity"]): Promise<void> {
  const body = { apiVersion: "headgate.dev/v1", kind: "Webhook" as const, metadata: { name }, spec: { url, minSeverity } };
  await contentOf(api.POST("/v1/webhooks", { body }));
}

/** Pauses a webhook, or resumes it. */
export async function suspendWebhook(webhook: Webhook, suspend: boolean): Promise<void> {
  const name = webhook.metadata.name;
  const body = { apiVersion: webhook.apiVersion, kind: webhook.kind, metadata: { name }, spec: { ...webhook.spec, suspend } };
  await contentOf(api.PUT("/v1/webhooks/{name}", { params: { path: { name }, header: { "If-Match": "*" } }, body }));
}

export async function deleteWebhook(name: string): Promise<void> {
  await contentOf(api.DELETE("/v1/webhooks/{name}", { params: { path: { name } } }));
}

/** A new secret, which is shown this once. */
export async function replaceSecret(name: string): Promise<string> {
  return (await contentOf(api.POST("/v1/webhooks/{name}/secret", { params: { path: { name } } }))).secret;
}

export async function testWebhook(name: string): Promise<void> {
  await contentOf(api.POST("/v1/webhooks/{name}/test", { params: { path: { name } } }));
}
