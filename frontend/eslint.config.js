// The rules of the code: strict and type-checked, imports only from app to features to shared.
import js from "@eslint/js";
import reactHooks from "eslint-plugin-react-hooks";
import globals from "globals";
import tseslint from "typescript-eslint";

const zone = (...forbidden) => ({ "no-restricted-imports": ["error", { patterns: forbidden }] });

const noApp = { group: ["@/app/*"], message: "Only src/app may import from src/app." };
const noFeature = {
  group: ["@/features/*"],
  message: "Features do not know each other, and shared code knows no feature.",
};
const noClimbing = {
  group: ["../../*"],
  message: "Reach shared code by @/…; a feature's own files are never further than ../ away.",
};

export default tseslint.config(
  { ignores: ["dist", "src/lib/api/generated", "eslint.config.js", "vite.config.ts"] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      globals: globals.browser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
  },
  reactHooks.configs.flat["recommended-latest"],
  {
    rules: {
      "max-lines": ["error", { max: 250 }],
      "max-params": ["error", { max: 5 }],
      "@typescript-eslint/consistent-type-imports": "error",
      // Numbers and booleans in template strings are exactly what people read.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // Handlers that only call a setter read best as one line.
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // The React compiler is not used here, so TanStack Virtual's functions need no memoizing.
      "react-hooks/incompatible-library": "off",
    },
  },
  { files: ["src/features/**"], rules: zone(noApp, noFeature, noClimbing) },
  { files: ["src/components/**", "src/lib/**"], rules: zone(noApp, noFeature) },
);
