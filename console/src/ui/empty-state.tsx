import { Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** In place of an empty list: what is missing, what to do, and the button for it. */
export function EmptyState({ title, help, children }: { title: string; help: string; children?: ReactNode }) {
  return (
    <Paper withBorder p="xl" radius="md">
      <Stack align="center" gap="sm" ta="center">
        <Title order={2} size="h4">
          {title}
        </Title>
        <Text c="dimmed" maw={520}>
          {help}
        </Text>
        {children}
      </Stack>
    </Paper>
  );
}
