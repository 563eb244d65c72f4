import { Box, Center, Group, Paper, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { LanguageMenu, ColorSchemeButton } from '../app/preferences';
import icon from '../icon.svg';

/** The frame of pages without a session. */
export function EntryLayout({ children }: { children: ReactNode }) {
  return (
    <Box component="main" p="md">
      <Group justify="flex-end" gap="xs">
        <LanguageMenu />
        <ColorSchemeButton />
      </Group>
      <Center mih="75vh">
        <Stack w="100%" maw={400} gap="lg">
          <Group gap="xs">
            <img src={icon} alt="" width={36} height={36} />
            <Text fw={700} size="xl">
              gwk
            </Text>
          </Group>
          <Paper withBorder p="lg" radius="md">
            <Stack>{children}</Stack>
          </Paper>
        </Stack>
      </Center>
    </Box>
  );
}
